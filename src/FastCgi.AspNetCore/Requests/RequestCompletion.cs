namespace FastCgi.AspNetCore.Requests;

/// <summary>Releases the slot, ends the request once, runs callbacks, disposes: no step prevents the next.</summary>
internal static class RequestCompletion
{
    /// <summary>Completes a request whose application has returned, thrown, or was not called. Never throws.</summary>
    public static void Complete(FastCgiRequest request, Exception? exception)
    {
        // Most requests need no state machine.
        if (exception is not null || request.Response is { Starting.IsCompleted: false }
            or { HasStarted: false, HasOnStarting: true })
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

    private static async Task CompleteAsync(FastCgiRequest request, Exception? exception)
    {
        await AttemptAsync(request, FinishWorkAsync(request, exception));
        End(request);
        await RetireAsync(request);
    }

    private static async Task RetireAsync(FastCgiRequest request)
    {
        // The client must not wait for the callbacks.
        Attempt(request, static request => request.Connection.Output.FlushNow());
        await AttemptAsync(request, new ValueTask(request.Response.FireOnCompletedAsync()));
        Retire(request);
    }

    /// <summary>Runs pending callbacks, and awaits running ones. Their errors are application errors.</summary>
    private static async ValueTask FinishWorkAsync(FastCgiRequest request, Exception? exception)
    {
        if (exception is not null)
            request.TakeApplicationException(exception);
        if (request.Response.Starting is { IsCompleted: false } starting)
            await starting.ConfigureAwait(
                ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        if (request is
            {
                ApplicationError: null, IsDetached: false,
                Response: { HasStarted: false, HasOnStarting: true } response
            })
            await response.FireOnStartingAsync();
    }

    /// <summary>
    /// Releases the slot first: the client's next request may arrive as soon as the end is sent and must find it free,
    /// and a client that does not read must not keep it.
    /// </summary>
    private static void End(FastCgiRequest request)
    {
        Attempt(request, static request => request.Server.Admission.Release(request));
        Attempt(request, static request => EndResponse(request));
        // The last resort if a step failed and the request is still in the table: drop it.
        if (!request.IsDetached)
        {
            Attempt(request, static request
                => request.Connection.TryAbort(request, new ConnectionAbortedException("The server failed to end the "
                    + "request.")));
        }

        Attempt(request, static request => request.Close());
        request.Connection.OnApplicationReturned();
    }

    private static void EndResponse(FastCgiRequest request)
    {
        var response = request.Response;
        if (request.IsAborted)
        {
            if (!response.HasStarted)
                response.SetAbortedStatus();
            return;
        }

        if (!request.IsForApplication)
        {
            Respond(request);
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
                // The response cannot end in the state in which the application left it.
                request.ReportApplicationError(exception);
            }
        }

        if (!request.IsDetached)
            Fail(request);
    }

    private static void Fail(FastCgiRequest request)
    {
        var response = request.Response;
        if (response.TryRespondForApplication(request.ErrorStatusCode))
            return;

        // A later error does not affect a response that is completely written.
        if (request.HasResponded || response.IsWritten)
            response.Finish();
        else
            response.Cut();
    }

    private static void Respond(FastCgiRequest request)
    {
        var rejection = request.Rejection;
        if (rejection == RequestRejection.None)
        {
            request.Response.TryRespondForApplication(StatusCodes.Status200OK, "pong\n");
            return;
        }

        var statusCode = rejection.GetStatusCode();
        request.Server.Counters.OnRequestRejected(rejection);
        request.Log.RequestRejected(request.Connection.Id, request.Id, statusCode, rejection.GetReason());
        request.Response.TryRespondForApplication(statusCode, rejection.GetReason() + "\n", rejection switch
        {
            RequestRejection.TooManyRequests or RequestRejection.RequestQueueTimeout
                or RequestRejection.TooManyRequestsOnConnection
                => ProtocolStatus.Overloaded,
            RequestRejection.CannotMultiplex => ProtocolStatus.CantMultiplexConnection,
            _ => ProtocolStatus.RequestComplete,
        });
    }

    private static void Retire(FastCgiRequest request)
    {
        if (request.HasNewOrigin || request.Response.HasSymptom || request.Server.Advisor is { SeesAllResponses: true })
            request.Server.Advise(request, static (advisor, request) => advisor.CheckResponse(request));
        Attempt(request, static request => request.DisposeContext());
        if (request.Server.Statistics.IsWatched)
            Attempt(request, static request => request.Server.Statistics.Add(request.MeasuredFrom));
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
