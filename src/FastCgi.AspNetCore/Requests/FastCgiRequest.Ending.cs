using FastCgi.AspNetCore.Cgi;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Requests;

/// <content>What <see cref="RequestCompletion"/> asks of a request: its errors, and its way into the pool.</content>
internal abstract partial class FastCgiRequest
{
    private Exception? _applicationError;

    /// <inheritdoc/>
    public override Exception? ApplicationError => _applicationError;

    /// <summary>The status of the answer to an application that has failed: an error, whatever an exception of a bad request says.</summary>
    public int ErrorStatusCode => _lazy?.BadRequest is { StatusCode: >= 400 and <= 599 and var statusCode } ? statusCode : StatusCodes.Status500InternalServerError;

    /// <summary>Whether the application has written all that the client waits for.</summary>
    public bool IsAnswered => Volatile.Read(ref _isCancellationPrevented);

    /// <inheritdoc/>
    public override Action RecordApplicationError(Exception exception)
    {
        var (log, connectionId, traceIdentifier) = (Server.Log, Connection.Id, TraceIdentifier);
        // Whoever waits for a client that has gone is told so by an exception, which is no error.
        if (IsAborted && exception is OperationCanceledException or IOException)
            return () => log.RequestAborted(connectionId, traceIdentifier);

        _applicationError = _applicationError is null ? exception : new AggregateException(_applicationError, exception).Flatten();
        return () => log.ApplicationError(connectionId, traceIdentifier, exception);
    }

    /// <summary>Records and logs an error of the application, for the completion of the request.</summary>
    public void ReportApplicationError(Exception exception)
    {
        Action log;
        using (Response.Output.EnterLock())
            log = RecordApplicationError(exception);
        log();
    }

    /// <summary>Records what the application threw, which may be the answer to a bad request.</summary>
    public void TakeApplicationException(Exception exception)
    {
        if (exception is BadHttpRequestException badRequest && !IsAborted)
        {
            Lazy.BadRequest = badRequest;
            Server.Log.BadRequest(Connection.Id, TraceIdentifier, badRequest.StatusCode, badRequest);
        }

        ReportApplicationError(exception);
    }

    /// <inheritdoc/>
    public override ResponseEnd OnEnding(bool isComplete) => Connection.OnRequestEnding(this, isComplete);

    /// <summary>Counts a request that the server answers itself, and tells of it; an operator, where a setting is the cause.</summary>
    public void ReportRejection(int statusCode)
    {
        Server.Counters.OnRequestRejected(statusCode, Rejection.ToString());
        Log.RequestRejected(ConnectionId, Id, statusCode, Rejection.GetReason());
        if (Rejection == RequestRejection.MissingMethod)
            Server.Misconfigurations.ReportMissingMethod(RequestRejections.ParameterAdvice);
        else if (Rejection == RequestRejection.TooManyRequests)
            Server.Misconfigurations.ReportBusy(Server.Options.Limits.MaxConcurrentRequests, Server.Options.Limits.RequestQueueLimit);
        else if (Rejection == RequestRejection.RequestQueueTimeout)
            Server.Misconfigurations.ReportLongWait(Server.Options.Limits.MaxConcurrentRequests, Server.Options.Limits.RequestQueueTimeout);
    }

    /// <summary>Counts a request whose body the server takes no longer.</summary>
    public void CountRefusedBody(RequestRejection reason) => Server.Counters.OnRequestRejected(reason.GetStatusCode(), reason.ToString());

    /// <inheritdoc/>
    public override void ReportDroppedHeaders(string names) => Server.Misconfigurations.ReportDroppedHeaders(ConnectionId, TraceIdentifier, names);

    /// <summary>Tells of a header block that does not fit nginx's default buffer.</summary>
    public void ReportLargeHead()
    {
        if (Server.LargeHeads.TryAcquire(Response.HeadLength, out var size))
            Server.LargeHeads.Report(Log, Response.HeadLength, size, GetWebServer());
    }

    /// <summary>The application has returned: from now on it can neither read nor write.</summary>
    public void CloseBodies()
    {
        using (Response.Output.EnterLock())
        {
            Response.CloseBody();
            Input.Close();
        }
    }

    /// <summary>
    /// The application has returned, and what it has registered for the start of the response has been called: another request may have the
    /// place of this one. Before the end of the answer leaves: the client's next request may come at once, and must not find its place taken.
    /// It may be called more than once.
    /// </summary>
    public void LeavePlace() => Server.Admission.Release(this);

    /// <summary>Lets hosting dispose of its context. It never throws.</summary>
    public abstract void DisposeContext();

    /// <summary>The request is over: releases all that was its own and puts the object into the pool.</summary>
    public void Release()
    {
        Connection.OnRequestReleased(this);
        if (Server.Statistics.IsWatched)
            Server.Statistics.Add(BeganAt);
        using (Response.Output.EnterLock())
        {
            Response.Close();
            Input.Close();
            _headers.End();
            EndFeatures();
            EndRequestLine();
        }

        Parameters.End();
        Input.End();
        ResetLifetime();
        _applicationError = null;
        Retire();
        Server.Requests.Return(this, Connection.Loop);
    }

    /// <summary>A request whose params did not come to an end is over.</summary>
    public void Forget()
    {
        Parameters.End();
        Retire();
        Server.Requests.Return(this, Connection.Loop);
    }

    private void Retire()
    {
        State.Retire();
        Volatile.Write(ref _generation, _generation + 1);
    }
}
