using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>How the response is ended once the application has returned, whatever became of it.</content>
internal abstract partial class FastCgiRequest
{
    /// <summary>What went wrong in the application, for hosting's diagnostics.</summary>
    protected Exception? ReportedError { get; private set; }

    /// <inheritdoc/>
    public override void ReportApplicationError(Exception exception)
    {
        if (IsAborted && exception is OperationCanceledException or IOException)
        {
            Server.Log.RequestAborted(Connection.Id, TraceIdentifier);
            return;
        }

        if (exception is BadHttpRequestException badRequest)
        {
            _badRequestError = badRequest;
            Server.Log.BadRequest(Connection.Id, TraceIdentifier, badRequest.StatusCode, badRequest);
        }

        ReportedError = ReportedError is null ? exception : new AggregateException(ReportedError, exception);
        Server.Log.ApplicationError(Connection.Id, TraceIdentifier, exception);
    }

    /// <inheritdoc/>
    public override void OnHeadBodyWritten(long length) => Server.Log.HeadBodyWritten(Connection.Id, TraceIdentifier, length);

    /// <inheritdoc/>
    public override void OnHeaderDropped(string name) => Server.Log.HeaderDropped(Connection.Id, TraceIdentifier, name);

    /// <summary>Ends the response: as it is, as an error, or cut.</summary>
    /// <param name="exception">What the application threw.</param>
    protected async ValueTask EndResponseAsync(Exception? exception)
    {
        if (Rejection != RequestRejection.None)
        {
            await RefuseAsync();
            return;
        }

        if (exception is null && ReportedError is null && Response is { HasStarted: false, HasOnStarting: true } && !IsAborted)
            exception = await FireOnStartingAsync();
        if (Response.Completion is { IsCompletedSuccessfully: false } completion)
            exception ??= await CatchAsync(completion);
        if (exception is not null)
            ReportApplicationError(exception);
        if (ReportedError is null && !IsAborted && Response.GetLengthMismatch() is { } mismatch)
            ReportApplicationError(mismatch);

        Response.CloseBody();
        CloseBody();
        if (IsAborted)
        {
            if (!Response.HasStarted)
                Response.SetAbortedStatus();
            return;
        }

        if (ReportedError is null && !Response.IsCompleted && TryStart())
            await FinishAsync();
        else if (ReportedError is not null && !Response.IsCompleted)
            await FailAsync();
    }

    private async ValueTask FailAsync()
    {
        if (Response.HasStarted)
        {
            await CutAsync();
            return;
        }

        Response.BecomeError(ReportedError is BadHttpRequestException badRequest ? badRequest.StatusCode : StatusCodes.Status500InternalServerError);
        Response.StartAtEnd();
        await Response.FinishAsync();
    }

    private async ValueTask FinishAsync()
    {
        try
        {
            await Response.FinishAsync();
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
        FlushStandardError();
        Connection.Cut(this);
        await Response.Output.DrainAsync();
    }

    private async ValueTask RefuseAsync()
    {
        var statusCode = Rejection.GetStatusCode();
        Server.Log.RequestRejected(Connection.Id, Id, statusCode, Rejection.GetReason());
        Response.BecomeError(statusCode, Rejection.GetReason() + "\n");
        Response.StartAtEnd();
        await Response.FinishAsync(Rejection switch
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

    private async ValueTask<Exception?> FireOnStartingAsync() => await CatchAsync(Response.FireOnStartingAsync());

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
