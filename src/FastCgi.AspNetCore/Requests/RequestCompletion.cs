using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The one way from "the application was called" to the end. Whatever the application did or threw, the request gives its place to another one
/// and leaves its connection exactly once: ended, aborted or cut; then its callbacks are called, reports are made, and its context is disposed of.
/// Whatever fails in a step, the next is taken.
/// </summary>
internal static class RequestCompletion
{
    /// <summary>Completes a request whose application has returned, or was not called. It never throws.</summary>
    /// <param name="request">The request.</param>
    /// <param name="exception">What the application threw.</param>
    public static void Complete(FastCgiRequest request, Exception? exception)
    {
        // Most requests end here, without a state machine.
        if (exception is not null || HasUnfinishedWork(request.Response))
        {
            _ = CompleteAsync(request, exception);
            return;
        }

        End(request);
        if (request.Response.HasOnCompleted)
            _ = RetireAsync(request);
        else
            Retire(request);
    }

    private static bool HasUnfinishedWork(FastCgiResponse response)
        => response.Starting is { IsCompleted: false } || response is { HasStarted: false, HasOnStarting: true };

    private static async Task CompleteAsync(FastCgiRequest request, Exception? exception)
    {
        await AttemptAsync(request, FinishWorkAsync(request, exception));
        End(request);
        await RetireAsync(request);
    }

    private static async Task RetireAsync(FastCgiRequest request)
    {
        // The client need not wait for the callbacks.
        Attempt(request, static request => request.Connection.Output.FlushNow());
        await AttemptAsync(request, new ValueTask(request.Response.FireOnCompletedAsync()));
        Retire(request);
    }

    /// <summary>Callbacks that the application has registered, or begun and not awaited, are its work too; what they fail with is recorded.</summary>
    private static async ValueTask FinishWorkAsync(FastCgiRequest request, Exception? exception)
    {
        if (exception is not null)
            request.TakeApplicationException(exception);
        if (request.Response.Starting is { IsCompleted: false } starting)
            await starting.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        if (request is { ApplicationError: null, HasLeft: false, Response: { HasStarted: false, HasOnStarting: true } response })
            await response.FireOnStartingAsync();
    }

    /// <summary>
    /// Gives the request's place to another one, ends its response, and takes it off its connection. The place first: the client's next request may
    /// come as soon as the end is sent, and must find it free, and a client that reads nothing must not keep it.
    /// </summary>
    private static void End(FastCgiRequest request)
    {
        Attempt(request, static request => request.Server.Admission.Release(request));
        Attempt(request, static request => EndResponse(request));
        // The last resort of a request that is still in the table, whatever has failed: what is left of it is dropped.
        if (!request.HasLeft)
            Attempt(request, static request => request.Connection.TryAbort(request, new ConnectionAbortedException("The server failed to end the request.")));
        Attempt(request, static request => request.Close());
        request.Connection.OnApplicationReturned();
    }

    /// <summary>Ends the response: as it is, as an error, or cut.</summary>
    private static void EndResponse(FastCgiRequest request)
    {
        var response = request.Response;
        if (request.IsAborted)
        {
            if (!response.HasStarted)
                response.SetAbortedStatus();
            return;
        }

        if (request.Rejection != RequestRejection.None)
        {
            Refuse(request);
            return;
        }

        if (request.ApplicationError is null)
        {
            try
            {
                response.Finish();
                return;
            }
            catch (Exception exception)
            {
                // The application has made it so that it cannot be ended.
                request.ReportApplicationError(exception);
            }
        }

        if (!request.HasLeft)
            Fail(request);
    }

    private static void Fail(FastCgiRequest request)
    {
        var response = request.Response;
        if (response.TryFinishAsError(request.ErrorStatusCode))
            return;

        // Where all of it is written, what fails after that does not make it a wrong response.
        if (request.IsAnswered)
            response.Finish();
        else
            response.Cut();
    }

    private static void Refuse(FastCgiRequest request)
    {
        var rejection = request.Rejection;
        var statusCode = rejection.GetStatusCode();
        if (rejection != RequestRejection.Ping)
            request.ReportRejection(statusCode);
        request.Response.TryFinishAsError(statusCode, rejection.GetReason() + "\n", rejection switch
        {
            RequestRejection.TooManyRequests or RequestRejection.RequestQueueTimeout or RequestRejection.TooManyRequestsOnConnection => ProtocolStatus.Overloaded,
            RequestRejection.CannotMultiplex => ProtocolStatus.CantMultiplexConnection,
            _ => ProtocolStatus.RequestComplete,
        });
    }

    /// <summary>Nobody waits for the request any longer.</summary>
    private static void Retire(FastCgiRequest request)
    {
        request.Server.Advise(request, static (advisor, request) => advisor.OnEnded(request));
        Attempt(request, static request => request.DisposeContext());
        if (request.Server.Statistics.IsWatched)
            Attempt(request, static request => request.Server.Statistics.Add(request.BeganAt));
        request.Connection.OnRequestOver();
    }

    private static void Attempt(FastCgiRequest request, Action<FastCgiRequest> step)
    {
        try
        {
            step(request);
        }
        catch (Exception failure)
        {
            Report(request, failure);
        }
    }

    private static async ValueTask AttemptAsync(FastCgiRequest request, ValueTask step)
    {
        try
        {
            await step;
        }
        catch (Exception failure)
        {
            Report(request, failure);
        }
    }

    private static void Report(FastCgiRequest request, Exception failure)
        => request.Log.RequestEndFailed(request.Connection.Id, request.TraceIdentifier, failure);
}
