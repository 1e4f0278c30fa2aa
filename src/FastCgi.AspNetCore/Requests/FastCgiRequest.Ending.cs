using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What <see cref="RequestCompletion"/> asks of a request.</content>
internal abstract partial class FastCgiRequest
{
    private Exception? _applicationError;

    /// <summary>What the application, or its callbacks, failed with.</summary>
    public Exception? ApplicationError => _applicationError;

    /// <summary>The status of the answer to an application that has failed: an error, whatever an exception of a bad request says.</summary>
    public int ErrorStatusCode => _lazy?.BadRequest is { StatusCode: >= 400 and <= 599 and var statusCode } ? statusCode : StatusCodes.Status500InternalServerError;

    /// <summary>Records an error of the application.</summary>
    /// <returns>What logs it, outside of the lock.</returns>
    public Action RecordApplicationError(RequestScope scope, Exception exception)
    {
        var (log, connectionId, traceIdentifier) = (Log, Connection.Id, TraceIdentifier);
        // Whoever waits for a client that has gone is told so by an exception, which is no error.
        if (IsAborted && exception is OperationCanceledException or IOException)
            return () => log.RequestAborted(connectionId, traceIdentifier);

        _applicationError = _applicationError is null ? exception : new AggregateException(_applicationError, exception).Flatten();
        return () => log.ApplicationError(connectionId, traceIdentifier, exception);
    }

    public void ReportApplicationError(Exception exception)
    {
        Action log;
        using (var scope = EnterLock())
            log = RecordApplicationError(scope, exception);
        log();
    }

    /// <summary>Records what the application threw, which may be the answer to a bad request.</summary>
    public void TakeApplicationException(Exception exception)
    {
        if (exception is BadHttpRequestException badRequest && !IsAborted)
        {
            Lazy.BadRequest = badRequest;
            Log.BadRequest(Connection.Id, TraceIdentifier, badRequest.StatusCode, badRequest);
        }

        ReportApplicationError(exception);
    }

    /// <summary>Counts a request that the server answers itself, and logs it.</summary>
    public void ReportRejection(int statusCode)
    {
        Server.Counters.OnRequestRejected(statusCode, Rejection.ToString());
        Log.RequestRejected(Connection.Id, Id, statusCode, Rejection.GetReason());
    }

    /// <summary>Counts a request whose body the server takes no longer.</summary>
    public void CountRefusedBody(RequestRejection reason) => Server.Counters.OnRequestRejected(reason.GetStatusCode(), reason.ToString());

    public abstract void DisposeContext();
}
