namespace FastCgi.AspNetCore.Requests;

/// <content>
/// Abort and errors. After the end of the response is queued, or all bytes of its Content-Length are written, an abort
/// cancels nothing: web servers close connections then.
/// </content>
internal abstract partial class FastCgiRequest : IHttpRequestLifetimeFeature
{
    private CancellationTokenSource? _abortedSource;
    private volatile bool _hasResponded;

    CancellationToken IHttpRequestLifetimeFeature.RequestAborted
    {
        get => _lazy?.AbortedToken is { } replaced ? replaced.Value : GetAbortedToken();
        set => Lazy.AbortedToken = new(value);
    }

    /// <summary>Whether the application has written everything that the client expects.</summary>
    public bool HasResponded => _hasResponded;

    public void Abort()
    {
        var reason = new ConnectionAbortedException("The connection was aborted by the application via "
            + "HttpContext.Abort().");
        if (Connection.TryAbort(this, reason))
            Log.ApplicationAborted(Connection.Id, TraceIdentifier);
    }

    /// <summary>Whether the web server is HAProxy: a reset while a client reads slowly can crash 2.6.12.</summary>
    public override bool ForbidsReset => WebServer == WebServerKind.HaProxy;

    /// <summary>Called under the lock, when nothing may be canceled any more.</summary>
    public void OnResponded() => _hasResponded = !IsAborted;

    protected override Exception OnAborting(
        ConnectionScope scope, AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        if (cause is AbortCause.WebServer or AbortCause.ConnectionLost)
            ReportIfGivenUp(scope, ref ready);
        if (!_hasResponded && _abortedSource is { } source)
            Cancel(source);
        return error ?? (cause == AbortCause.WebServer
            ? new ConnectionResetException("The web server aborted the request.")
            : new ConnectionAbortedException("The connection was closed by the server."));
    }

    protected override void OnAbandoned()
    {
        Parameters = new RequestParameters(Server.Mapping, []);
        _head = default;
        Server.Admission.Withdraw(this);
    }

    private void ReportIfGivenUp(ConnectionScope scope, ref ReadyRequests ready)
    {
        if (Server.Advisor is null || HasResponded || Response.In(scope).BytesWritten > 0)
            return;

        var age = Server.Time.GetElapsedTime(BeganAt);
        if (age < Advisor.MinGivenUpAge)
            return;

        var given = (Parameters.Software, Age: age);
        ready.Report(() => Server.Advise(
            given, static (advisor, given) => advisor.OnGivenUp(given.Software, given.Age)));
    }

    private CancellationToken GetAbortedToken()
    {
        using var scope = EnterLock();
        if (_hasResponded)
            return CancellationToken.None;
        if (IsAborted)
            return new CancellationToken(canceled: true);

        return IsDetached ? CancellationToken.None : (_abortedSource ??= new CancellationTokenSource()).Token;
    }

    /// <summary>Runs registered callbacks on the thread pool without locks: they are application code.</summary>
    private void Cancel(CancellationTokenSource source) => ThreadRoot.Queue(
        (source, log: Log),
        static state =>
        {
            try
            {
                state.source.Cancel();
            }
            catch (Exception exception)
            {
                state.log.CancellationCallbackFailed(exception);
            }
        },
        Log);

    public Exception? ApplicationError { get; private set; }

    /// <summary>The status if the application has failed: always an error, even for a bad-request exception.</summary>
    public int ErrorStatusCode
        => _lazy?.BadRequest is { StatusCode: >= 400 and <= 599 and var statusCode }
            ? statusCode
            : StatusCodes.Status500InternalServerError;

    /// <summary>Records and logs an error. Call it without the lock.</summary>
    public override void ReportApplicationError(Exception exception)
    {
        // A handler that awaits a disconnected client gets this exception, which is not an application error.
        if (IsAborted && exception is OperationCanceledException or IOException)
        {
            Log.RequestAborted(Connection.Id, TraceIdentifier);
            return;
        }

        using (EnterLock())
        {
            ApplicationError = ApplicationError is { } earlier
                ? new AggregateException(earlier, exception).Flatten()
                : exception;
        }

        Log.ApplicationError(Connection.Id, TraceIdentifier, exception);
    }

    public override Exception CreateBodyError(BodyError error, long limit) => error switch
    {
        BodyError.TooLarge => new BadHttpRequestException(
            $"Request body too large. The max request body size is {limit} bytes.",
            StatusCodes.Status413PayloadTooLarge),
        BodyError.UnexpectedEnd => new BadHttpRequestException("Unexpected end of request content."),
        _ => new ObjectDisposedException(
            nameof(HttpRequest), "The request body cannot be used after the request has ended."),
    };

    protected override Exception OnBodyRefused(BodyRate? missed, out Action report)
    {
        var (log, connectionId, traceIdentifier, length) = (Log, Connection.Id, TraceIdentifier, UnreadBodyLength);
        report = missed is { BytesPerSecond: var rate }
            ? () => log.RequestBodyTooSlow(connectionId, traceIdentifier, rate)
            : () => log.RequestBodyRefused(connectionId, traceIdentifier, length);
        var reason = missed is null ? RequestRejection.RequestBodyBacklog : RequestRejection.RequestBodyTimeout;
        Server.Counters.OnRequestRejected(reason);
        return new BadHttpRequestException(reason.GetReason(), reason.GetStatusCode());
    }
}
