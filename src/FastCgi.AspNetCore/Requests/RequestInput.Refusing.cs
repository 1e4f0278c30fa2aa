using System.IO.Pipelines;
using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>Bodies that the server takes no longer: reads of them fail.</content>
internal sealed partial class RequestInput
{
    /// <summary>Whether the application has waited for the body, and it must come at some rate.</summary>
    public bool IsTimed => Body is { IsTimed: true };

    /// <summary>The body has kept the other requests waiting for too long: no more of it is taken.</summary>
    /// <returns>What is to be reported, outside of the lock.</returns>
    public Action Refuse(ConnectionScope connection)
    {
        const RequestRejection Reason = RequestRejection.RequestBodyBacklog;
        var (log, connectionId, traceIdentifier, length) = (_request.Log, _request.Connection.Id, _request.TraceIdentifier, UnreadLength);
        Fail(connection, new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        _request.CountRefusedBody(Reason);
        return () => log.RequestBodyRefused(connectionId, traceIdentifier, length);
    }

    /// <summary>Fails the body if it comes too slowly. Called every second or so.</summary>
    /// <param name="isPaused">Whether nothing is received, which is not the client's fault.</param>
    /// <returns>What is to be reported, outside of the lock; <see langword="null"/> if it is fast enough.</returns>
    public Action? FailIfSlow(ConnectionScope connection, long now, bool isPaused)
    {
        const RequestRejection Reason = RequestRejection.RequestBodyTimeout;
        if (Body?.FindRateMissed(_request.Clock, now, isPaused) is not { } rate)
            return null;

        var (log, connectionId, traceIdentifier) = (_request.Log, _request.Connection.Id, _request.TraceIdentifier);
        Fail(connection, new BadHttpRequestException(Reason.GetReason(), Reason.GetStatusCode()));
        _request.CountRefusedBody(Reason);
        return () => log.RequestBodyTooSlow(connectionId, traceIdentifier, rate.BytesPerSecond);
    }

    /// <summary>Where the read waits, the body must come at the rate that the request has, if it has one.</summary>
    private ValueTask<ReadResult> Time(RequestBody body, ValueTask<ReadResult> read)
    {
        if (!read.IsCompleted && _request.MinBodyDataRate is { } rate)
            body.Time(rate, _request.Clock.GetTimestamp());
        return read;
    }
}
