using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>How the response is ended once the application has returned, whatever became of it.</content>
internal abstract partial class FastCgiRequest
{
    private BadHttpRequestException? _badRequest;
    private Exception? _applicationError;

    /// <inheritdoc/>
    public override Exception? ApplicationError => _applicationError;

    /// <inheritdoc/>
    public override void ReportApplicationError(Exception exception)
    {
        // Whoever waits for a client that has gone is told so by an exception, which is no error.
        if (IsAborted && exception is OperationCanceledException or IOException)
        {
            Server.Log.RequestAborted(Connection.Id, TraceIdentifier);
            return;
        }

        _applicationError = _applicationError is null ? exception : new AggregateException(_applicationError, exception).Flatten();
        Server.Log.ApplicationError(Connection.Id, TraceIdentifier, exception);
    }

    /// <inheritdoc/>
    public override void OnCallbackFailed(Exception exception) => Server.Log.ApplicationError(Connection.Id, TraceIdentifier, exception);

    /// <inheritdoc/>
    public override void OnHeadBodyWritten(long length) => Server.Log.HeadBodyWritten(Connection.Id, TraceIdentifier, length);

    /// <inheritdoc/>
    public override void OnFileOffloaded(string path, string target) => Server.Log.FileOffloaded(Connection.Id, TraceIdentifier, path, target);

    /// <inheritdoc/>
    public override void OnFileStreamed(string path, string obstacle) => Server.Log.FileStreamed(Connection.Id, TraceIdentifier, path, obstacle);

    /// <inheritdoc/>
    public override void OnHeadersDropped(string names) => Server.Log.HeadersDropped(Connection.Id, TraceIdentifier, names);

    /// <summary>Ends the response: as it is, as an error, or cut.</summary>
    /// <param name="exception">What the application threw.</param>
    protected async ValueTask EndResponseAsync(Exception? exception)
    {
        if (Rejection != RequestRejection.None)
        {
            await RefuseAsync();
            return;
        }

        if (exception is not null)
            TakeApplicationException(exception);
        if (_applicationError is null && Response is { HasStarted: false, HasOnStarting: true } && !IsAborted)
            await Response.FireOnStartingAsync();
        if (Response.Completion is { } completion && await CatchAsync(completion) is { } failure)
            ReportApplicationError(failure);
        if (_applicationError is null && !IsAborted && Response.GetLengthMismatch() is { } mismatch)
            ReportApplicationError(mismatch);

        Response.CloseBody();
        CloseBody();
        if (IsAborted)
        {
            if (!Response.HasStarted)
                Response.SetAbortedStatus();
            return;
        }

        if (_applicationError is null && !Response.IsCompleted && TryStart())
            await FinishAsync();
        else if (_applicationError is not null && !Response.IsCompleted)
            await FailAsync();
    }

    /// <summary>Notes what the application threw, which may be the answer to a bad request.</summary>
    private void TakeApplicationException(Exception exception)
    {
        if (exception is BadHttpRequestException badRequest && !IsAborted)
        {
            _badRequest = badRequest;
            Server.Log.BadRequest(Connection.Id, TraceIdentifier, badRequest.StatusCode, badRequest);
        }

        ReportApplicationError(exception);
    }

    private async ValueTask FailAsync()
    {
        if (Response.HasStarted)
        {
            // All of it is written: what fails after that does not make it a wrong response.
            await (_isCancellationPrevented ? FinishAsync() : CutAsync());
            return;
        }

        Response.BecomeError(_badRequest?.StatusCode ?? StatusCodes.Status500InternalServerError);
        Response.StartAtEnd();
        await FinishAsync();
    }

    private async ValueTask FinishAsync(ProtocolStatus status = ProtocolStatus.RequestComplete)
    {
        try
        {
            await Response.FinishAsync(status);
        }
        catch (Exception exception)
        {
            // The header block cannot be written: an encoding the application chose refuses a value.
            ReportApplicationError(exception);
            await CutAsync();
        }
    }

    private async ValueTask CutAsync()
    {
        Connection.Cut(this);
        await Response.Output.DrainAsync();
    }

    private async ValueTask RefuseAsync()
    {
        var statusCode = Rejection.GetStatusCode();
        Server.Counters.OnRequestRejected(statusCode);
        Server.Log.RequestRejected(Connection.Id, Id, statusCode, Rejection.GetReason());
        Response.BecomeError(statusCode, Rejection.GetReason() + "\n");
        Response.StartAtEnd();
        await FinishAsync(Rejection switch
        {
            RequestRejection.TooManyRequests => ProtocolStatus.Overloaded,
            RequestRejection.CannotMultiplex => ProtocolStatus.CantMultiplexConnection,
            _ => ProtocolStatus.RequestComplete,
        });
        Response.CloseBody();
        CloseBody();
    }

    /// <summary>Makes status and headers final; an application that made them so that they cannot be is in error.</summary>
    private bool TryStart()
    {
        try
        {
            Response.StartAtEnd();
            return true;
        }
        catch (InvalidOperationException exception)
        {
            ReportApplicationError(exception);
            return false;
        }
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
