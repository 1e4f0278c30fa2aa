namespace FastCgi.AspNetCore.Requests;

/// <content>
/// Abort and errors. After the end of the response is queued, or all bytes of its Content-Length are written, an abort
/// cancels nothing: web servers close connections then.
/// </content>
internal abstract partial class FastCgiRequest : IHttpRequestLifetimeFeature
{
    // The first of the two counts: the request is aborted, or its response is written, so nothing may be cancelled.
    private static readonly CancellationTokenSource s_canceled = new(TimeSpan.Zero);
    private static readonly CancellationTokenSource s_answered = new();

    private CancellationTokenSource? _abortedSource;

    CancellationToken IHttpRequestLifetimeFeature.RequestAborted
    {
        get => _lazy?.AbortedToken is { } replaced ? replaced.Value : GetAbortedToken();
        set => Lazy.AbortedToken = new(value);
    }

    /// <summary>Whether the application has written everything that the client waits for.</summary>
    public bool IsAnswered => Volatile.Read(ref _abortedSource) == s_answered;

    public void Abort()
    {
        var reason = new ConnectionAbortedException("The connection was aborted by the application via "
            + "HttpContext.Abort().");
        if (Connection.TryAbort(this, reason))
            Log.ApplicationAborted(Connection.Id, TraceIdentifier);
    }

    /// <summary>A reset while a client reads slowly can crash HAProxy (2.6.12).</summary>
    public override bool ForbidsReset
        => WebServerKinds.Of(Parameters.GetVariable("SERVER_SOFTWARE")) == WebServerKind.HaProxy;

    public void OnAnswered() => TrySettle(s_answered, out _);

    protected override Exception OnAborting(AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        if (cause is AbortCause.WebServer or AbortCause.ConnectionLost)
            ReportIfGivenUp(ref ready);
        return error ?? (cause == AbortCause.WebServer
            ? new ConnectionResetException("The web server aborted the request.")
            : new ConnectionAbortedException("The connection was closed by the server."));
    }

    protected override void OnDropped()
    {
        Parameters = new RequestParameters(Server.Mapping, []);
        _head = default;
        Server.Admission.LeaveQueue(this);
    }

    protected override void OnAborted()
    {
        if (TrySettle(s_canceled, out var source) && source is not null)
            Cancel(source);
    }

    /// <summary>The application has returned, or was not called: nothing can be read or written from now on.</summary>
    public void Close()
    {
        using var scope = EnterLock();
        Response.Close(scope);
        Close(static () => new ObjectDisposedException(nameof(HttpRequest)));
    }

    private void ReportIfGivenUp(ref ReadyRequests ready)
    {
        if (Server.Advisor is null || IsAnswered || Response.BytesWritten > 0)
            return;

        var age = Server.Time.GetElapsedTime(BeganAt);
        if (age >= Advisor.MinGivenUpAge)
            ReportGivenUp(Parameters.GetVariable("SERVER_SOFTWARE"), age, ref ready);
    }

    // In its own method, so that only this allocates the closure.
    private void ReportGivenUp(string? software, TimeSpan age, ref ReadyRequests ready)
        => ready.Report(() => Server.Advise(
            (software, age), static (advisor, given) => advisor.OnGivenUp(given.software, given.age)));

    private CancellationToken GetAbortedToken()
    {
        var source = Volatile.Read(ref _abortedSource);
        if (source is null && (!HasLeft || IsAborted))
            source = Keep(ref _abortedSource, new CancellationTokenSource());
        return source is null || source == s_answered ? CancellationToken.None : source.Token;
    }

    private bool TrySettle(CancellationTokenSource outcome, out CancellationTokenSource? before)
    {
        do
        {
            before = Volatile.Read(ref _abortedSource);
            if (before == s_canceled || before == s_answered)
                return false;
        }
        while (Interlocked.CompareExchange(ref _abortedSource, outcome, before) != before);

        return true;
    }

    /// <summary>Registered callbacks are application code, so they run on the thread pool, without our locks.</summary>
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

    /// <summary>The status if the application has failed: always an error, whatever a bad request says.</summary>
    public int ErrorStatusCode
        => _lazy?.BadRequest is { StatusCode: >= 400 and <= 599 and var statusCode }
            ? statusCode
            : StatusCodes.Status500InternalServerError;

    /// <summary>Records and logs an error. Call it without the lock.</summary>
    public void ReportApplicationError(Exception exception)
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

    /// <summary>Records what the application threw, which may determine the status.</summary>
    public void TakeApplicationException(Exception exception)
    {
        if (exception is BadHttpRequestException badRequest && !IsAborted)
        {
            Lazy.BadRequest = badRequest;
            Log.BadRequest(Connection.Id, TraceIdentifier, badRequest.StatusCode, badRequest);
        }

        ReportApplicationError(exception);
    }

    protected override Exception OnBodyRefused(RequestRejection reason, BodyRate rate, out Action report)
    {
        var (log, connectionId, traceIdentifier, length) = (Log, Connection.Id, TraceIdentifier, UnreadBodyLength);
        report = reason == RequestRejection.RequestBodyTimeout
            ? () => log.RequestBodyTooSlow(connectionId, traceIdentifier, rate.BytesPerSecond)
            : () => log.RequestBodyRefused(connectionId, traceIdentifier, length);
        Server.Counters.OnRequestRejected(reason.GetStatusCode(), reason.ToString());
        return new BadHttpRequestException(reason.GetReason(), reason.GetStatusCode());
    }

    public abstract void DisposeContext();
}
