namespace FastCgi.AspNetCore.Streams;

/// <summary>The FastCGI side of a request. The HTTP side implements the abstract members.</summary>
internal abstract partial class RequestStream(FastCgiConnection connection, in RequestStart start)
{
    private StreamState _state;
    private volatile RequestPhase _phase;
    private bool _isClaimed;
    private volatile bool _hasReturned;
    private RequestBody? _body;
    private long? _declaredLength;

    public FastCgiConnection Connection => connection;
    public ushort Id { get; } = start.Id;
    public FastCgiRole Role { get; } = start.Role;
    public bool KeepConnection { get; } = start.KeepConnection;

    public uint Sequence { get; } = start.Sequence;
    public long BeganAt { get; } = start.BeganAt;
    public RequestRejection Rejection { get; private set; }
    public RequestStream? NextReady { get; set; }
    public RequestSlot Slot { get; set; }

    public bool HasAllParameters => _phase != RequestPhase.Receiving;

    /// <summary>Whether the request has left its connection, which then accepts no more output.</summary>
    public bool IsDetached => _phase is not (RequestPhase.Receiving or RequestPhase.Ready);
    public bool IsAborted => _phase == RequestPhase.Aborted;

    /// <summary>Whether the application has returned or will not be called: nothing can be read or written.</summary>
    public bool HasReturned => _hasReturned;

    public ref StreamState In(ConnectionScope scope)
    {
        connection.RequireLock(scope);
        return ref _state;
    }

    /// <param name="isWhole">Whether the piece is the whole content of its record.</param>
    public void AppendParameters(ConnectionScope scope, ReadOnlySpan<byte> content, bool isWhole)
    {
        if (Rejection != RequestRejection.None)
            return;

        ref var parameters = ref In(scope).Parameters;
        if (parameters.Length + (long)content.Length > connection.Context.Options.Limits.MaxRequestParametersTotalSize)
            Reject(RequestRejection.ParametersTooLarge);
        else
            parameters.Append(content, isWhole);
    }

    public void Reject(RequestRejection rejection)
    {
        if (Rejection == RequestRejection.None)
            Rejection = rejection;
    }

    /// <summary>Called when the parameters are complete, or the request is rejected.</summary>
    /// <returns>Whether the request can be executed. If not, it waits for a slot.</returns>
    public bool TryMakeReady(ConnectionScope scope)
    {
        _phase = RequestPhase.Ready;
        return TryPrepare(In(scope).Parameters.RemoveAll());
    }

    /// <summary>Claims the request for the thread that has dequeued it. An aborted one is claimed, too.</summary>
    public bool TryClaim() => !Interlocked.Exchange(ref _isClaimed, true);

    /// <summary>Makes the loop of the connection run the request. A lock may be held.</summary>
    public void RunLater()
    {
        var ready = new ReadyRequests();
        ready.Add(this);
        connection.Run(ref ready);
    }

    /// <summary>Records how the request ends. It stays in the queue, if any, that holds it.</summary>
    public void Detach(ConnectionScope scope, RequestPhase ending)
    {
        Invariants.Require(!IsDetached, "A request was detached twice.");
        _phase = ending;
        // The thread that claims the request sees this, or Abort sees the claim.
        Interlocked.MemoryBarrier();
    }

    /// <summary>Fails reads and drops output, because the request was detached.</summary>
    /// <param name="error">The exception that reads throw; <see langword="null"/> to derive it from the cause.</param>
    public void Abort(ConnectionScope scope, AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        // Unlike a disconnect, a local abort also discards received data.
        GetBody(scope).Fail(
            OnAborting(scope, cause, error, ref ready), discards: cause is AbortCause.Application or AbortCause.Server);
        scope.State.Output.Queued.Remove(this);
        DropQueued(scope);
        // Queues may hold the request until blocked handlers return. What it has received is released now.
        if (!Volatile.Read(ref _isClaimed))
        {
            GetBody(scope).CompleteReader();
            OnAbandoned();
        }
    }

    /// <summary>Ends reading and writing, because the application has returned or was not called.</summary>
    protected void Close(ConnectionScope scope)
    {
        _hasReturned = true;
        if (_body is null)
            return;

        _body.Fail(CreateBodyError(BodyError.RequestOver), discards: false);
        _body.CompleteReader();
    }

    /// <summary>Whether connections of the web server that sent the request must not be reset.</summary>
    public abstract bool ForbidsReset { get; }

    public abstract RequestDescription Describe(ConnectionScope scope, long now);

    public abstract void OnSlow(RequestDescription description, ref ReadyRequests ready);

    /// <summary>Maps the parameters. May reject the request.</summary>
    /// <returns>Whether the request can be executed. If not, it waits for a slot.</returns>
    protected abstract bool TryPrepare(byte[] parameters);

    /// <summary>Cancels what the application does.</summary>
    /// <returns>The exception that reads throw.</returns>
    protected abstract Exception OnAborting(
        ConnectionScope scope, AbortCause cause, Exception? error, ref ReadyRequests ready);

    protected abstract void OnAbandoned();

    /// <summary>Called when the server refuses the rest of the body.</summary>
    /// <param name="missed">The rate that the body missed; null if it blocks other requests.</param>
    /// <param name="report">The action that logs it, for a call without the lock.</param>
    /// <returns>The exception that reads throw.</returns>
    protected abstract Exception OnBodyRefused(BodyRate? missed, out Action report);

    public bool IsInputOver { get; private set; }
    public bool HasDeclaredLength => _declaredLength is not null;

    public long UnreadBodyLength => _body?.UnreadLength ?? 0;
    public bool IsReading => _body is { IsReading: true };
    public long ReceivedBodyLength => Volatile.Read(ref _body)?.ReceivedLength ?? 0;

    public RequestBody Body
    {
        get
        {
            if (Volatile.Read(ref _body) is { } body)
                return body;

            using var scope = connection.EnterLock();
            return GetBody(scope);
        }
    }

    /// <summary>The rate that the body must have from the first wait on, if any.</summary>
    public abstract BodyRate? RequiredBodyRate { get; }

    /// <param name="limit">The limit that the body exceeds, if that is the reason.</param>
    public abstract Exception CreateBodyError(BodyError error, long limit = 0);

    public abstract void ReportApplicationError(Exception exception);

    /// <summary>Whether the web server sends a body; <see langword="null"/> while that is unknown.</summary>
    public bool? SendsBody
    {
        get
        {
            if (HasDeclaredLength)
                return _declaredLength > 0;
            if (ReceivedBodyLength > 0)
                return true;

            return IsInputOver ? false : null;
        }
    }

    public void AppendStdin(ConnectionScope scope, ReadOnlySpan<byte> content)
    {
        if (!IsInputOver && _declaredLength != 0)
            GetBody(scope).Append(content);
    }

    public void EndStdin(ConnectionScope scope)
    {
        if (IsInputOver)
            return;

        IsInputOver = true;
        _body?.EndInput();
    }

    /// <param name="missed">The rate that the body missed; null if it blocks other requests.</param>
    public void RefuseBody(ConnectionScope scope, BodyRate? missed, ref ReadyRequests ready)
    {
        GetBody(scope).Fail(OnBodyRefused(missed, out var report), discards: false);
        ready.Report(report);
    }

    /// <summary>Fails the body if it arrives too slowly. Called every second.</summary>
    /// <param name="isPaused">Whether receiving is paused, which is not the client's fault.</param>
    public void FailIfSlow(ConnectionScope scope, long now, bool isPaused, ref ReadyRequests ready)
    {
        if (_body?.FindRateMissed(connection.Context.Time, now, isPaused) is { } rate)
            RefuseBody(scope, rate, ref ready);
    }

    protected void BeginInput(long? declaredLength)
    {
        _declaredLength = declaredLength;
        // Web servers send no STDIN to an authorizer, and most do not even end it.
        IsInputOver = Role == FastCgiRole.Authorizer;
    }

    private RequestBody GetBody(ConnectionScope scope)
    {
        if (_body is { } there)
            return there;

        connection.RequireLock(scope);
        var body = new RequestBody(this, _declaredLength);
        if (IsInputOver || _declaredLength == 0)
            body.EndInput();
        Volatile.Write(ref _body, body);
        return body;
    }
}

/// <summary>
/// Receiving → Ready → detached: complete, incomplete or aborted. The claim of a thread is a separate fact.
/// </summary>
internal enum RequestPhase : byte
{
    Receiving,

    /// <summary>The parameters are complete, so the request waits to be executed, or is.</summary>
    Ready,

    Complete,

    Incomplete,

    Aborted,
}

/// <summary>The content of BEGIN_REQUEST, its number on the connection, and its time by the server's clock.</summary>
internal readonly record struct RequestStart(
    ushort Id, FastCgiRole Role, bool KeepConnection, uint Sequence, long BeganAt);

internal enum RequestSlot : byte
{
    /// <summary>The request needs no slot: there is no limit, or it was refused or is over.</summary>
    None,

    Ordinary,

    Status,

    Queued,
}
