namespace FastCgi.AspNetCore.Streams;

/// <summary>The FastCGI side of a request. The HTTP side implements the abstract members.</summary>
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

    public uint Sequence { get; } = start.Sequence;
    public long BeganAt { get; } = start.BeganAt;
    public RequestRejection Rejection { get; private set; }
    public RequestStream? NextReady { get; set; }
    public RequestSlot Slot { get; set; }

    public RequestPhase Phase => (RequestPhase)Volatile.Read(ref _phase);
    public bool HasAllParameters => Phase != RequestPhase.Receiving;

    /// <summary>Whether the request has left its connection, which then accepts no more output.</summary>
    public bool HasLeft => Phase >= RequestPhase.Ended;
    public bool IsAborted => Phase is RequestPhase.Dropped or RequestPhase.Aborted;
    public bool IsOver => Phase == RequestPhase.Over;

    public ref StreamState In(ConnectionScope scope)
    {
        if (Invariants.AreChecked)
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

    /// <summary>Makes the server reject the request. The first reason counts.</summary>
    public void Reject(RequestRejection rejection)
    {
        if (Rejection == RequestRejection.None)
            Rejection = rejection;
    }

    /// <summary>Called when the parameters are complete, or the request is rejected.</summary>
    /// <returns>Whether the request can be executed. If not, it waits for a slot.</returns>
    public bool TryMakeReady(ConnectionScope scope)
    {
        Prepare(In(scope).Parameters.RemoveAll());
        Volatile.Write(ref _phase, (int)RequestPhase.Waiting);
        return TryAdmit();
    }

    /// <returns>Whether this call claimed the request. At most one does; none if it was aborted before.</returns>
    public bool TryClaim() => TryMove(RequestPhase.Waiting, RequestPhase.Running);

    /// <summary>Claims a request that was aborted before a thread had claimed it, in order to complete it.</summary>
    public bool TryClaimDropped() => TryMove(RequestPhase.Dropped, RequestPhase.Aborted);

    public void RunLater()
    {
        var ready = new ReadyRequests();
        ready.Add(this);
        connection.Run(ref ready);
    }

    /// <summary>Records how the request left its connection. Only a thread that claims it can race with this.</summary>
    public void Leave(ConnectionScope scope, RequestPhase how)
    {
        RequestPhase before;
        do
            before = Phase;
        while (!TryMove(
            before, before == RequestPhase.Waiting && how == RequestPhase.Aborted ? RequestPhase.Dropped : how));
    }

    /// <summary>Fails reads and drops output, because the request has left the connection.</summary>
    /// <param name="error">The exception that reads throw; <see langword="null"/> to derive it from the cause.</param>
    public void Abort(ConnectionScope scope, AbortCause cause, Exception? error, ref ReadyRequests ready)
    {
        var reason = OnAborting(cause, error, ref ready);
        FailInput(scope, reason);
        RecordOutput.Remove(scope, this);
        DropQueued(scope);
        if (Phase == RequestPhase.Dropped)
        {
            // Queues may hold the request until blocked handlers return. Completing it now releases its slot.
            CloseInput(scope, reason);
            OnDropped();
            ready.AddDropped(this);
        }

        OnAborted();
    }

    /// <summary>Ends reading and writing, because the application has returned or was not called.</summary>
    protected void Close(Func<Exception> createError)
    {
        Volatile.Write(ref _phase, (int)RequestPhase.Over);
        if (Body is null)
            return;

        using var scope = connection.EnterLock();
        CloseInput(scope, createError());
    }

    /// <summary>Whether connections of the web server that sent the request must not be reset.</summary>
    public abstract bool ForbidsReset { get; }

    public abstract RequestDescription Describe(ConnectionScope scope, long now);

    /// <summary>Called under the lock of the connection if the request takes longer than the threshold.</summary>
    public abstract void OnSlow(RequestDescription description, ref ReadyRequests ready);

    /// <summary>Maps the parameters and creates the body. May reject the request.</summary>
    protected abstract void Prepare(byte[] parameters);

    /// <returns>Whether the request can be executed. If not, it waits for a slot.</returns>
    protected abstract bool TryAdmit();

    /// <returns>The exception that reads throw.</returns>
    protected abstract Exception OnAborting(AbortCause cause, Exception? error, ref ReadyRequests ready);

    protected abstract void OnDropped();

    protected abstract void OnAborted();

    /// <summary>Called when the server refuses the rest of the body.</summary>
    /// <param name="report">The action that logs it, for a call without the lock.</param>
    /// <returns>The exception that reads throw.</returns>
    protected abstract Exception OnBodyRefused(RequestRejection reason, BodyRate rate, out Action report);

    private bool TryMove(RequestPhase from, RequestPhase to)
        => Interlocked.CompareExchange(ref _phase, (int)to, (int)from) == (int)from;
}

/// <summary>The thread that changes Waiting to Running, or Dropped to Aborted, executes the request.</summary>
internal enum RequestPhase
{
    Receiving,

    Waiting,

    /// <summary>A thread has claimed the request and calls the application, or the server itself responds.</summary>
    Running,

    /// <summary>The request has left its connection with a complete response.</summary>
    Ended,

    /// <summary>The request was aborted before a thread claimed it. The first thread to find it completes it.</summary>
    Dropped,

    /// <summary>The web server, the application, or this server aborted the request, and it left.</summary>
    Aborted,

    /// <summary>The request has left its connection with a response that clients recognize as incomplete.</summary>
    Cut,

    /// <summary>Also, the application has returned or was not called: nothing can be read or written.</summary>
    Over,
}

/// <summary>The content of BEGIN_REQUEST, its number on the connection, and its time by the server's clock.</summary>
internal readonly record struct RequestStart(
    ushort Id, FastCgiRole Role, bool KeepConnection, uint Sequence, long BeganAt);
