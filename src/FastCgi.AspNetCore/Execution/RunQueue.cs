using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// The requests that one receive made ready: the batch. The queue belongs to one thread at a time: when the application keeps that thread, the
/// watchdog takes the queue, and another thread continues with it.
/// </summary>
/// <param name="tryBeginNext">
/// Begins the next batch, on the thread that owns the queue, and waits for one if need be. It returns whether there is one; if not, the queue has
/// ended, and its thread must not touch it any more.
/// </param>
internal sealed class RunQueue(Func<bool> tryBeginNext)
{
    // 0, or the number of the call that the thread of the queue is in. Whoever sets it back owns the queue.
    private long _call;
    private long _lastCall;
    private long _batch;

    // Of the call.
    private ResponseOutput? _response;

    // The batch.
    private ReadyRequests _ready;
    private RecordOutput? _output;

    /// <summary>Shows what the thread of the queue is doing; <see langword="null"/> where the system does not tell.</summary>
    public ThreadProbe? Probe { get; set; }

    /// <summary>Whether no request is left in the batch.</summary>
    public bool IsEmpty => _ready.IsEmpty;

    /// <summary>The call of the application that the queue is in, or 0. Each has a number of its own.</summary>
    public long CurrentCall => Volatile.Read(ref _call);

    /// <summary>The calls of the application so far.</summary>
    public long CallCount => Volatile.Read(ref _lastCall);

    /// <summary>The number of the batch.</summary>
    public long Batch => Volatile.Read(ref _batch);

    /// <summary>The outlet of the connection of the batch; <see langword="null"/> if there is none.</summary>
    public RecordOutput? Output => Volatile.Read(ref _output);

    /// <summary>The path of the request that the application was called for last.</summary>
    public PathKey Path { get; private set; }

    /// <summary>Begins the next batch.</summary>
    /// <returns>Whether there is one; if not, this thread must not touch the queue any more.</returns>
    public bool TryBeginNext() => tryBeginNext();

    /// <summary>Begins a batch. The one before has ended.</summary>
    public void Begin(ref ReadyRequests ready, RecordOutput output)
    {
        _ready = ready;
        ready = default;
        Volatile.Write(ref _output, output);
        Volatile.Write(ref _batch, _batch + 1);
    }

    /// <summary>Takes the next request of the batch.</summary>
    public FastCgiRequest RemoveFirst() => _ready.RemoveFirst();

    /// <summary>Takes what is to be reported behind the batch.</summary>
    public IReadOnlyList<Action> TakeReports() => _ready.TakeReports();

    /// <summary>The batch has ended.</summary>
    public void End() => Volatile.Write(ref _output, null);

    /// <summary>The thread of the queue is about to call the application.</summary>
    /// <param name="response">The response of the request, if there is one.</param>
    /// <param name="path">The path of the request.</param>
    /// <returns>The number of the call.</returns>
    public long Enter(ResponseOutput? response, PathKey path)
    {
        var call = _lastCall + 1;
        _response = response;
        Path = path;
        Volatile.Write(ref _lastCall, call);
        Volatile.Write(ref _call, call);
        return call;
    }

    /// <summary>The call is over.</summary>
    /// <returns>Whether the thread still owns the queue; if not, it must not touch it any more.</returns>
    public bool TryLeave(long call) => Interlocked.CompareExchange(ref _call, 0, call) == call;

    /// <summary>Takes the queue from the thread that the application keeps in a call.</summary>
    /// <returns>Whether the caller owns it now.</returns>
    public bool TryTake(long call) => Interlocked.CompareExchange(ref _call, 0, call) == call;

    /// <summary>What a call may hold back. From any thread: by the time it is used another call may have begun, which does no harm.</summary>
    /// <returns>Whether the call was not over yet.</returns>
    public bool TryGetCall(long call, out ResponseOutput? response)
    {
        response = Volatile.Read(ref _response);
        return CurrentCall == call;
    }
}
