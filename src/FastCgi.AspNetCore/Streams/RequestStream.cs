namespace FastCgi.AspNetCore.Streams;

/// <summary>A request as FastCGI knows it. The abstract members are what only the stage above knows.</summary>
internal abstract partial class RequestStream(FastCgiConnection connection, in RequestStart start)
{
    // A byte, because there is one for each waiting request.
    private readonly byte _role = (byte)start.Role;
    private StreamState _state;
    private int _phase;

    public FastCgiConnection Connection => connection;
    public ushort Id { get; } = start.Id;
    public FastCgiRole Role => (FastCgiRole)_role;
    public bool KeepConnection { get; } = start.KeepConnection;

    /// <summary>The number of the request on its connection.</summary>
    public uint Sequence { get; } = start.Sequence;
    public long BeganAt { get; } = start.BeganAt;
    public RequestRejection Rejection { get; private set; }
    public RequestStream? NextReady { get; set; }
    public RequestSlot Slot { get; set; }

    public RequestPhase Phase => (RequestPhase)Volatile.Read(ref _phase);
    public bool HasAllParameters => Phase != RequestPhase.Receiving;

    /// <summary>Whether the request has left its connection, which then takes no more of the response.</summary>
    public bool HasLeft => Phase >= RequestPhase.Ended;
    public bool IsAborted => Phase is RequestPhase.Dropped or RequestPhase.Aborted;
    public bool IsOver => Phase == RequestPhase.Over;

    public ref StreamState In(ConnectionScope scope)
    {
        if (Invariants.AreChecked)
            connection.RequireLock(scope);
        return ref _state;
    }

    /// <param name="isWhole">Whether it is the whole content of its record.</param>
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

    /// <summary>Makes the server reject the request. The first reason counts.</summary>
    public void Reject(RequestRejection rejection)
    {
        if (Rejection == RequestRejection.None)
            Rejection = rejection;
    }

    /// <summary>The params are complete, or the request is rejected.</summary>
    /// <returns>Whether it can be executed. If not, it waits for a slot.</returns>
    public bool TryMakeReady(ConnectionScope scope)
    {
        Prepare(In(scope).Parameters.RemoveAll());
        Volatile.Write(ref _phase, (int)RequestPhase.Waiting);
        return TryAdmit();
    }

    /// <returns>Whether this call claimed it. At most one does; none if the request was aborted before.</returns>
    public bool TryClaim() => TryMove(RequestPhase.Waiting, RequestPhase.Running);

    /// <summary>Claims a request that was aborted before a thread had claimed it, in order to complete it.</summary>
    public bool TryClaimDropped() => TryMove(RequestPhase.Dropped, RequestPhase.Aborted);

    public void RunLater()
    {
        var ready = new ReadyRequests();
        ready.Add(this);
        connection.Run(ref ready);
    }

    /// <summary>Makes the request leave its connection. Only a thread that claims the request interferes.</summary>
    public void Leave(ConnectionScope scope, RequestPhase how)
    {
        RequestPhase before;
        do
            before = Phase;
        while (!TryMove(
            before, before == RequestPhase.Waiting && how == RequestPhase.Aborted ? RequestPhase.Dropped : how));
    }

    /// <summary>The request has left the connection: fails reads and drops output.</summary>
    /// <param name="error">What reads fail with; <see langword="null"/> for an exception by the cause.</param>
    public void Abort(ConnectionScope scope, AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        var reason = OnAborting(cause, error, ref ready);
        FailInput(scope, reason);
        RecordOutput.Remove(scope, this);
        DropQueued(scope);
        if (Phase == RequestPhase.Dropped)
        {
            // Queues may hold it until blocked handlers return. A thread must complete it, to release its slot.
            CloseInput(scope, reason);
            OnDropped();
            ready.AddDropped(this);
        }

        OnAborted();
    }

    /// <summary>The application has returned, or was not called: nothing can be read or written from now on.</summary>
    protected void Close(Func<Exception> createError)
    {
        Volatile.Write(ref _phase, (int)RequestPhase.Over);
        if (Body is null)
            return;

        using var scope = connection.EnterLock();
        CloseInput(scope, createError());
    }

    /// <summary>Whether the web server that has sent the request must not be reset.</summary>
    public abstract bool ForbidsReset { get; }

    public abstract RequestDescription Describe(ConnectionScope scope, long now);

    /// <summary>The request takes longer than the threshold. Called under the lock of the connection.</summary>
    public abstract void OnSlow(RequestDescription description, ref ReadyRequests ready);

    /// <summary>Maps the params and begins the body. It may reject the request.</summary>
    protected abstract void Prepare(byte[] parameters);

    /// <returns>Whether the request can be executed. If not, it waits for a slot.</returns>
    protected abstract bool TryAdmit();

    /// <returns>What reads fail with.</returns>
    protected abstract Exception OnAborting(AbortCause cause, Exception? error, ref ReadyRequests ready);

    protected abstract void OnDropped();

    protected abstract void OnAborted();

    /// <summary>The server refuses the rest of the body.</summary>
    /// <param name="report">The action that logs it, for a call without the lock.</param>
    /// <returns>What reads fail with.</returns>
    protected abstract Exception OnBodyRefused(RequestRejection reason, BodyRate rate, out Action report);

    private bool TryMove(RequestPhase from, RequestPhase to)
        => Interlocked.CompareExchange(ref _phase, (int)to, (int)from) == (int)from;
}

/// <summary>The thread that moves it to Running, or from Dropped to Aborted, executes the request.</summary>
internal enum RequestPhase
{
    Receiving,

    Waiting,

    /// <summary>A thread has claimed it: the application runs it, or the server answers it.</summary>
    Running,

    /// <summary>It has left its connection with a complete response.</summary>
    Ended,

    /// <summary>It was aborted before a thread had claimed it. The first thread that finds it completes it.</summary>
    Dropped,

    /// <summary>It has left its connection because the web server, the application or this server aborted it.</summary>
    Aborted,

    /// <summary>It has left its connection with a response that the client sees is incomplete.</summary>
    Cut,

    /// <summary>The application has also returned, or was not called: nothing can be read or written.</summary>
    Over,
}

/// <summary>What BEGIN_REQUEST says, its number on the connection, and when it came by the server's clock.</summary>
internal readonly record struct RequestStart(
    ushort Id, FastCgiRole Role, bool KeepConnection, uint Sequence, long BeganAt);
