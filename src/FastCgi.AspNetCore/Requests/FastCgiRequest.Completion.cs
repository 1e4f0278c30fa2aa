namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The end: releases the slot, ends the request once, runs callbacks, disposes. No step prevents the next.
/// </content>
internal abstract partial class FastCgiRequest
{
    /// <summary>Completes a request whose application has returned, thrown, or was not called. Never throws.</summary>
    public void Complete(Exception? exception)
    {
        // Most requests need no state machine.
        if (exception is not null || Response is { Starting.IsCompleted: false }
            or { HasStarted: false, HasOnStarting: true })
        {
            _ = CompleteAsync(exception);
            return;
        }

        End();
        if (Response.HasOnCompleted)
            _ = RetireAsync();
        else
            Retire();
    }

    private async Task CompleteAsync(Exception? exception)
    {
        await AttemptAsync(FinishWorkAsync(exception));
        End();
        await RetireAsync();
    }

    private async Task RetireAsync()
    {
        // The client must not wait for the callbacks.
        Attempt(static request => request.Connection.Output.FlushNow());
        await AttemptAsync(new ValueTask(Response.FireOnCompletedAsync()));
        Retire();
    }

    /// <summary>Runs pending callbacks, and awaits running ones. Their errors are application errors.</summary>
    private async ValueTask FinishWorkAsync(Exception? exception)
    {
        if (exception is BadHttpRequestException badRequest && !IsAborted)
        {
            Lazy.BadRequest = badRequest;
            Log.BadRequest(Connection.Id, TraceIdentifier, badRequest.StatusCode, badRequest);
        }

        if (exception is not null)
            ReportApplicationError(exception);
        if (Response.Starting is { IsCompleted: false } starting)
            await starting.ConfigureAwait(
                ConfigureAwaitOptions.SuppressThrowing | ConfigureAwaitOptions.ContinueOnCapturedContext);
        if (ApplicationError is null && !IsDetached && Response is { HasStarted: false, HasOnStarting: true })
            await Response.FireOnStartingAsync();
    }

    /// <summary>
    /// Releases the slot first: the client's next request may arrive as soon as the end is sent and must find it free,
    /// and a client that does not read must not keep it.
    /// </summary>
    private void End()
    {
        Attempt(static request => request.Server.Admission.Release(request));
        Attempt(static request => request.EndResponse());
        // The last resort if a step failed and the request is still in the table: drop it.
        if (!IsDetached)
        {
            Attempt(static request
                => request.Connection.TryAbort(request, new ConnectionAbortedException("The server failed to end the "
                    + "request.")));
        }

        Attempt(static request => request.Close());
        Connection.OnApplicationReturned();
    }

    private void EndResponse()
    {
        if (IsAborted)
        {
            if (!Response.HasStarted)
                Response.SetAbortedStatus();
            return;
        }

        if (!IsForApplication)
        {
            Respond();
            return;
        }

        if (ApplicationError is null)
        {
            try
            {
                Response.Finish();
                return;
            }
            catch (Exception exception)
            {
                // The response cannot end in the state in which the application left it.
                ReportApplicationError(exception);
            }
        }

        if (!IsDetached)
            Fail();
    }

    private void Fail()
    {
        if (Response.TryRespondForApplication(ErrorStatusCode))
            return;

        // A later error does not affect a response that is completely written.
        if (HasResponded || Response.IsWritten)
            Response.Finish();
        else
            Response.Cut();
    }

    private void Respond()
    {
        var rejection = Rejection;
        if (rejection == RequestRejection.None)
        {
            Response.TryRespondForApplication(StatusCodes.Status200OK, "pong\n");
            return;
        }

        var statusCode = rejection.GetStatusCode();
        Server.Counters.OnRequestRejected(rejection);
        Log.RequestRejected(Connection.Id, Id, statusCode, rejection.GetReason());
        Response.TryRespondForApplication(statusCode, rejection.GetReason() + "\n", rejection switch
        {
            RequestRejection.TooManyRequests or RequestRejection.RequestQueueTimeout
                or RequestRejection.TooManyRequestsOnConnection
                => ProtocolStatus.Overloaded,
            RequestRejection.CannotMultiplex => ProtocolStatus.CantMultiplexConnection,
            _ => ProtocolStatus.RequestComplete,
        });
    }

    public void Close()
    {
        using var scope = EnterLock();
        Response.Close(scope);
        Close(scope);
    }

    protected abstract void DisposeContext();

    private void Retire()
    {
        if (HasNewOrigin || Response.HasSymptom || Server.Advisor is { SeesAllResponses: true })
            Server.Advise(this, static (advisor, request) => advisor.CheckResponse(request));
        Attempt(static request => request.DisposeContext());
        if (Server.Statistics.IsWatched)
            Attempt(static request => request.Server.Statistics.Add(request.MeasuredFrom));
        Connection.OnRequestOver();
    }

    private void Attempt(Action<FastCgiRequest> step)
    {
        try
        {
            step(this);
        }
        catch (Exception failure)
        {
            ReportFailure(failure);
        }
    }

    private async ValueTask AttemptAsync(ValueTask step)
    {
        try
        {
            await step;
        }
        catch (Exception failure)
        {
            ReportFailure(failure);
        }
    }

    private void ReportFailure(Exception failure)
        => Log.RequestEndFailed(Connection.Id, TraceIdentifier, failure);
}
