namespace FastCgi.AspNetCore.Requests;

/// <content>
/// The phases of a request, its abort by the web server (ABORT_REQUEST or a closed connection) or the application, and its errors. After the end of
/// the response is queued, or all bytes of its Content-Length are written, an abort cancels nothing: front-ends close connections then.
/// </content>
internal abstract partial class FastCgiRequest : IHttpRequestLifetimeFeature
{
    // The first of the two counts: the request is aborted, or its response is written so that nothing may be cancelled any more.
    private static readonly CancellationTokenSource s_canceled = new(TimeSpan.Zero);
    private static readonly CancellationTokenSource s_answered = new();

    private int _phase;
    private CancellationTokenSource? _abortedSource;

    CancellationToken IHttpRequestLifetimeFeature.RequestAborted
    {
        get => _lazy?.AbortedToken is { } replaced ? replaced.Value : GetAbortedToken();
        set => Lazy.AbortedToken = new(value);
    }

    public RequestPhase Phase => (RequestPhase)Volatile.Read(ref _phase);
    public bool HasAllParameters => Phase != RequestPhase.Receiving;

    /// <summary>Whether the request has left its connection, which then takes no more of the response.</summary>
    public bool HasLeft => Phase >= RequestPhase.Ended;
    public bool IsAborted => Phase is RequestPhase.Dropped or RequestPhase.Aborted;
    public bool IsOver => Phase == RequestPhase.Over;

    /// <summary>Whether the application has written everything that the client waits for.</summary>
    public bool IsAnswered => Volatile.Read(ref _abortedSource) == s_answered;
    public bool IsInputOver => Input is { IsOver: true };

    /// <summary>The bytes of the body that the application has not examined, while more may arrive.</summary>
    public long UnreadBodyLength => Input is { } input ? input.UnreadLength : 0;

    /// <summary>Whether the application has waited for the body, which must arrive at some rate.</summary>
    public bool IsBodyTimed => Input is { IsTimed: true };

    public void Abort()
    {
        var reason = new ConnectionAbortedException("The connection was aborted by the application via HttpContext.Abort().");
        if (Connection.TryAbort(this, reason))
            Log.ApplicationAborted(Connection.Id, TraceIdentifier);
    }

    /// <summary>Everything that the client waits for is written, so an abort cancels nothing any more.</summary>
    public void OnAnswered() => TrySettle(s_answered, out _);

    /// <returns>Whether this call claimed it. At most one does; none if the request was aborted before.</returns>
    public bool TryClaim() => TryMove(RequestPhase.Waiting, RequestPhase.Running);

    /// <summary>Completes a request that was aborted before a thread had claimed it, unless another thread has done so.</summary>
    public void CompleteIfDropped()
    {
        if (TryMove(RequestPhase.Dropped, RequestPhase.Aborted))
            RequestCompletion.Complete(this, exception: null);
    }

    /// <summary>Makes the request leave its connection. Under the lock of the connection, only a thread that claims the request interferes.</summary>
    public void Leave(ConnectionScope connection, RequestPhase how)
    {
        RequestPhase before;
        do
            before = Phase;
        while (!TryMove(before, before == RequestPhase.Waiting && how == RequestPhase.Aborted ? RequestPhase.Dropped : how));
    }

    /// <summary>The request was aborted: reads fail, output is dropped, and the token fires.</summary>
    /// <param name="ready">Gets the request if nobody has claimed it, for a thread that completes it.</param>
    public void OnAborted(ConnectionScope connection, Exception reason, ref ReadyRequests ready)
    {
        Input.Fail(connection, reason);
        Response.Output.Drop(connection);
        if (Phase == RequestPhase.Dropped)
        {
            // Queues may hold it until blocked handlers return. Until then it would keep the client's data and its slot.
            Input.Close(connection);
            Parameters = new RequestParameters(Server.Mapping);
            _head = default;
            Server.Admission.LeaveQueue(this);
            ready.Add(this);
        }

        CancelToken();
    }

    /// <summary>The application has returned, or was not called: nothing can be read or written from now on.</summary>
    public void Close()
    {
        using var scope = EnterLock();
        Volatile.Write(ref _phase, (int)RequestPhase.Over);
        Response.Close(scope);
        if (!Input.IsUsed)
            return;

        using var connection = Connection.EnterLock();
        Input.Close(connection);
    }

    private bool TryMove(RequestPhase from, RequestPhase to) => Interlocked.CompareExchange(ref _phase, (int)to, (int)from) == (int)from;

    private CancellationToken GetAbortedToken()
    {
        var source = Volatile.Read(ref _abortedSource);
        if (source is null && (!HasLeft || IsAborted))
            source = Keep(ref _abortedSource, new CancellationTokenSource());
        return source is null || source == s_answered ? CancellationToken.None : source.Token;
    }

    private void CancelToken()
    {
        if (TrySettle(s_canceled, out var source) && source is not null)
            Cancel(source);
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

    /// <summary>What the application or its callbacks failed with.</summary>
    public Exception? ApplicationError { get; private set; }

    /// <summary>The status if the application has failed: always an error, whatever a bad-request exception says.</summary>
    public int ErrorStatusCode
        => _lazy?.BadRequest is { StatusCode: >= 400 and <= 599 and var statusCode } ? statusCode : StatusCodes.Status500InternalServerError;

    /// <returns>The action that logs the error, for a call without the lock.</returns>
    public Action RecordApplicationError(RequestScope scope, Exception exception)
    {
        var (log, connectionId, traceIdentifier) = (Log, Connection.Id, TraceIdentifier);
        // A handler that awaits a disconnected client gets this exception, which is not an application error.
        if (IsAborted && exception is OperationCanceledException or IOException)
            return () => log.RequestAborted(connectionId, traceIdentifier);

        ApplicationError = ApplicationError is null ? exception : new AggregateException(ApplicationError, exception).Flatten();
        return () => log.ApplicationError(connectionId, traceIdentifier, exception);
    }

    public void ReportApplicationError(Exception exception)
    {
        Action log;
        using (var scope = EnterLock())
            log = RecordApplicationError(scope, exception);
        log();
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

    public void ReportRejection(int statusCode)
    {
        Server.Counters.OnRequestRejected(statusCode, Rejection.ToString());
        Log.RequestRejected(Connection.Id, Id, statusCode, Rejection.GetReason());
    }

    public void CountRefusedBody(RequestRejection reason) => Server.Counters.OnRequestRejected(reason.GetStatusCode(), reason.ToString());

    public abstract void DisposeContext();
}

/// <summary>The state of a request. It also determines which thread executes it: the one that moves it to Running, or from Dropped to Aborted.</summary>
internal enum RequestPhase
{
    Receiving,

    /// <summary>It is ready and waits for a thread.</summary>
    Waiting,

    /// <summary>A thread has claimed it: the application runs it, or the server answers it.</summary>
    Running,

    /// <summary>It has left its connection with a complete response.</summary>
    Ended,

    /// <summary>It was aborted before a thread had claimed it. The first thread that finds it completes it, without the application.</summary>
    Dropped,

    /// <summary>It has left its connection because the web server, the application or this server aborted it.</summary>
    Aborted,

    /// <summary>It has left its connection with a response that the client sees is incomplete.</summary>
    Cut,

    /// <summary>The application has also returned, or was not called: nothing can be read or written.</summary>
    Over,
}

/// <summary>The content of BEGIN_REQUEST, its number on the connection, and when it came by the clock of the server.</summary>
internal readonly record struct RequestStart(ushort Id, FastCgiRole Role, bool KeepConnection, uint Sequence, long BeganAt);
