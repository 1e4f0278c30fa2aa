using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The one way from "the application was called" to "in the pool". Whatever the application did or threw, the request leaves its
/// connection exactly once: ended, aborted or cut; then its output is sent or dropped; then its callbacks are called and its context
/// is disposed of; then, and only then, the object is put into the pool.
/// </summary>
internal static class RequestCompletion
{
    /// <summary>Completes a request whose application has returned, or was not called.</summary>
    /// <param name="request">The request.</param>
    /// <param name="exception">What the application threw.</param>
    public static void Complete(FastCgiRequest request, Exception? exception)
    {
        // Most requests end here, without a state machine.
        if (exception is null && CanFinishAtOnce(request))
        {
            request.LeavePlace();
            if (TryFinish(request, out var isDrained) && isDrained && !request.Response.HasOnCompleted)
            {
                Retire(request);
                return;
            }
        }

        var completion = CompleteAsync(request, exception);
        if (completion.IsCompleted)
            completion.GetAwaiter().GetResult();
    }

    private static bool CanFinishAtOnce(FastCgiRequest request)
        => request is { Rejection: RequestRejection.None, ApplicationError: null, IsAborted: false, Response: { IsCompleted: false, Completion: null, Starting: null or { IsCompleted: true } } response }
            && (response.HasStarted || !response.HasOnStarting);

    private static async ValueTask CompleteAsync(FastCgiRequest request, Exception? exception)
    {
        await AttemptAsync(request, EndResponseAsync(request, exception));
        await AttemptAsync(request, LeaveConnectionAsync(request));
        await AttemptAsync(request, new ValueTask(request.Response.FireOnCompletedAsync()));
        Retire(request);
    }

    /// <summary>Whatever fails in a step, those behind it are taken: the request leaves its connection and comes into the pool.</summary>
    private static async ValueTask AttemptAsync(FastCgiRequest request, ValueTask step)
    {
        try
        {
            await step;
        }
        catch (Exception failure)
        {
            request.Log.RequestEndFailed(request.ConnectionId, request.TraceIdentifier, failure);
        }
    }

    private static async ValueTask LeaveConnectionAsync(FastCgiRequest request)
    {
        request.LeavePlace();
        // The last resort of a request that is still in the table, whatever has failed: what is left of it is dropped.
        if (request.State.IsInTable)
            request.Connection.TryAbort(request, request.Generation, new ConnectionAbortedException("The server failed to end the request."));
        request.CloseBodies();
        await request.Response.Output.DrainAsync();
    }

    /// <summary>Ends the response: as it is, as an error, or cut.</summary>
    private static async ValueTask EndResponseAsync(FastCgiRequest request, Exception? exception)
    {
        var response = request.Response;
        if (request.Rejection != RequestRejection.None)
        {
            request.LeavePlace();
            Refuse(request);
            return;
        }

        if (exception is not null)
            request.TakeApplicationException(exception);
        // Callbacks that the application has begun and not awaited are its work too; what they fail with is recorded.
        if (response.Starting is { IsCompleted: false } starting)
            await CatchAsync(starting);
        if (request.ApplicationError is null && response is { HasStarted: false, HasOnStarting: true } && !request.IsAborted)
            await response.FireOnStartingAsync();
        // Where the application has completed the response, its end has been sent, or waits for the web server.
        if (response.IsCompleted)
            request.LeavePlace();
        if (response.Completion is { } completion && await CatchAsync(completion) is { } failure)
            request.ReportApplicationError(failure);
        request.LeavePlace();
        if (request.IsAborted)
        {
            if (!response.HasStarted)
                response.SetAbortedStatus();
            return;
        }

        if (request.ApplicationError is null && TryFinish(request, out _))
            return;
        if (request.ApplicationError is not null && !response.IsCompleted)
            Fail(request);
    }

    /// <summary>Ends a response that nothing is wrong with; an application that made it so that it cannot be ended is in error.</summary>
    private static bool TryFinish(FastCgiRequest request, out bool isDrained)
    {
        isDrained = false;
        try
        {
            isDrained = request.Response.Finish();
            return true;
        }
        catch (Exception exception)
        {
            request.ReportApplicationError(exception);
            return false;
        }
    }

    private static void Fail(FastCgiRequest request)
    {
        var response = request.Response;
        if (response.TryFinishAsError(request.ErrorStatusCode))
            return;

        if (request.IsAnswered)
        {
            // All of it is written: what fails after that does not make it a wrong response.
            response.Finish();
        }
        else if (response.Cut() == ResponseEnd.CutByReset)
        {
            request.Connection.Reset();
        }
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

    private static void Retire(FastCgiRequest request)
    {
        request.ReportLargeHead();
        request.ReportAnswer();
        request.DisposeContext();
        request.Release();
    }

    private static async ValueTask<Exception?> CatchAsync(Task task)
    {
        try
        {
            await task;
            return null;
        }
        catch (Exception exception)
        {
            return exception;
        }
    }
}
