namespace FastCgi.AspNetCore.Execution;

/// <summary>The batch of one receive. One thread at a time owns it; if the application keeps that thread, the watchdog gives it to another.</summary>
/// <param name="tryBeginNext">
/// Begins the next batch on the thread that owns the queue, and waits for one if necessary. It returns false if the queue has ended; the thread
/// must not touch it then.
/// </param>
internal sealed class RunQueue(Func<bool> tryBeginNext)
{
    // 0, or the number of the current call. The thread that resets it owns the queue.
    private long _call;
    private long _lastCall;
    private long _batch;

    // Belongs to the current call.
    private ResponseOutput? _response;

    private ReadyRequests _ready;
    private RecordOutput? _output;

    /// <summary>Shows what the thread of the queue is doing; <see langword="null"/> if the system cannot report it.</summary>
    public ThreadProbe? Probe { get; set; }
    public bool IsEmpty => _ready.IsEmpty;

    /// <summary>The number of the current call of the application, or 0. Numbers are unique.</summary>
    public long CurrentCall => Volatile.Read(ref _call);
    public long CallCount => Volatile.Read(ref _lastCall);
    public long Batch => Volatile.Read(ref _batch);

    /// <summary>The output of the batch's connection; <see langword="null"/> if there is no batch.</summary>
    public RecordOutput? Output => Volatile.Read(ref _output);
    public PathKey Path { get; private set; }

    /// <returns>Whether there is a next batch. If not, this thread must not touch the queue.</returns>
    public bool TryBeginNext() => tryBeginNext();

    /// <summary>Begins a batch. The previous one has ended.</summary>
    public void Begin(ref ReadyRequests ready, RecordOutput output)
    {
        _ready = ready;
        ready = default;
        Volatile.Write(ref _output, output);
        Volatile.Write(ref _batch, _batch + 1);
    }

    public FastCgiRequest RemoveFirst() => _ready.RemoveFirst();

    public IReadOnlyList<Action> TakeReports() => _ready.TakeReports();

    public void End() => Volatile.Write(ref _output, null);

    /// <summary>Called by the thread of the queue before it calls the application.</summary>
    public long Enter(ResponseOutput? response, PathKey path)
    {
        var call = _lastCall + 1;
        _response = response;
        Path = path;
        Volatile.Write(ref _lastCall, call);
        Volatile.Write(ref _call, call);
        return call;
    }

    /// <summary>Ends a call on the thread of the queue, or takes the queue from a thread that the application keeps in the call.</summary>
    /// <returns>Whether the caller owns the queue now. If not, it must not touch it.</returns>
    public bool TryLeave(long call) => Interlocked.CompareExchange(ref _call, 0, call) == call;

    /// <summary>Gets what a call may hold back. Any thread may call it: uncorking a later call does no harm.</summary>
    public bool TryGetCall(long call, out ResponseOutput? response)
    {
        response = Volatile.Read(ref _response);
        return CurrentCall == call;
    }
}
