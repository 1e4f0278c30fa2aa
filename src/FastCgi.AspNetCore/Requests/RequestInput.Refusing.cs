using System.IO.Pipelines;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>Bodies that the server takes no longer: reads of them fail.</content>
internal sealed partial class RequestInput
{
    /// <summary>Whether the application has waited for the body, and it must come at some rate. With the lock of the connection held.</summary>
    public bool IsTimed => Body is { IsTimed: true };

    /// <summary>The body has kept the other requests waiting for too long: no more of it is taken. With the lock of the connection held.</summary>
    /// <returns>What is to be reported, outside of the lock.</returns>
    public Action Refuse()
    {
        const RequestRejection Reason = RequestRejection.RequestBodyBacklog;
        var (log, connectionId, traceIdentifier, length) = (request.Log, request.ConnectionId, request.TraceIdentifier, UnreadLength);
        Fail(new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        request.CountRefusedBody(Reason);
        return () => log.RequestBodyRefused(connectionId, traceIdentifier, length);
    }

    /// <summary>Fails the body if it comes too slowly. With the lock of the connection held, every second or so.</summary>
    /// <param name="now">The time.</param>
    /// <param name="isPaused">Whether nothing is received, which is not the client's fault.</param>
    /// <returns>What is to be reported, outside of the lock; <see langword="null"/> if it is fast enough.</returns>
    public Action? FailIfSlow(long now, bool isPaused)
    {
        const RequestRejection Reason = RequestRejection.RequestBodyTimeout;
        if (Body?.FindRateMissed(request.Clock, now, isPaused) is not { } rate)
            return null;

        var (log, connectionId, traceIdentifier) = (request.Log, request.ConnectionId, request.TraceIdentifier);
        Fail(new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        request.CountRefusedBody(Reason);
        return () => log.RequestBodyTooSlow(connectionId, traceIdentifier, rate.BytesPerSecond);
    }

    /// <summary>Where the read waits, the body must come at the rate that the request has, if it has one.</summary>
    private ValueTask<ReadResult> Time(RequestBody body, ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted && request.MinBodyDataRate is { } rate)
            body.Time(rate, request.Clock.GetTimestamp());
        return read;
    }
}
