namespace FastCgi.AspNetCore.Execution;

/// <summary>The events from which a loop creates its next batch.</summary>
internal enum BatchSource : byte
{
    /// <summary>Only events that the loop has already received.</summary>
    Received,

    Poll,

    Wait,
}

internal enum BatchResult : byte
{
    Begun,

    /// <summary>There is no batch. Never returned for <see cref="BatchSource.Wait"/>.</summary>
    None,

    /// <summary>The loop has ended. The thread must not access it.</summary>
    Ended,
}

/// <summary>The batch of one receive of a loop. The thread that owns it also owns the loop.</summary>
/// <param name="tryBegin">Starts the next batch on the thread that owns the queue.</param>
internal sealed class RunQueue(Func<BatchSource, BatchResult> tryBegin)
{
    // In microseconds: a loop stays busy if a client pauses for some milliseconds.
    private const long LoadWindow = 2_000;
    private const long LoadMemory = 16_000;

    // A loop is busy for at least a quarter of the time. Below that, a request rarely waits for another.
    private const long BusyShare = 4;

    private ReadyRequests _ready;
    private RecordOutput? _output;
    private long _batch;
    private long _loadUpdatedAt;
    private long _elapsed;
    private long _work;

    public bool IsEmpty => _ready.IsEmpty;

    public bool HasMore { get; private set; }

    /// <summary>Whether requests take so much time that others would often wait for one of them.</summary>
    public bool IsBusy { get; private set; }
    public long Batch => Volatile.Read(ref _batch);

    /// <summary>The output of the batch's connection; <see langword="null"/> if there is no batch.</summary>
    public RecordOutput? Output => Volatile.Read(ref _output);

    public BatchResult TryBegin(BatchSource source) => tryBegin(source);

    public void Begin(ref ReadyRequests ready, RecordOutput output, bool hasMore = false)
    {
        _ready = ready;
        ready = default;
        HasMore = hasMore;
        Volatile.Write(ref _output, output);
        Volatile.Write(ref _batch, _batch + 1);
    }

    public FastCgiRequest RemoveFirst() => (FastCgiRequest)_ready.RemoveFirst();

    public IReadOnlyList<Action> TakeReports() => _ready.TakeReports();

    public void End() => Volatile.Write(ref _output, null);

    public void CountWork(long microseconds) => _work += microseconds;

    /// <summary>Updates the share of time that the requests of the loop take.</summary>
    public void UpdateLoad(long microseconds)
    {
        if (microseconds - _loadUpdatedAt < LoadWindow)
            return;

        _elapsed += microseconds - _loadUpdatedAt;
        _loadUpdatedAt = microseconds;
        while (_elapsed > LoadMemory)
        {
            _elapsed /= 2;
            _work /= 2;
        }

        IsBusy = _work * BusyShare >= _elapsed;
    }
}
