namespace FastCgi.AspNetCore.Execution;

/// <summary>Where a loop looks for its next batch.</summary>
internal enum BatchSource : byte
{
    /// <summary>In what it has already received from the system.</summary>
    Received,

    /// <summary>There, and in what the system has now.</summary>
    Poll,

    /// <summary>The same, and it waits for the system.</summary>
    Wait,
}

internal enum BatchResult : byte
{
    Begun,

    /// <summary>There is none. Not if the loop may wait.</summary>
    None,

    /// <summary>The loop is over. The thread must not touch it.</summary>
    Ended,
}

/// <summary>The batch of one receive of a loop. One thread at a time owns it, and so the loop.</summary>
/// <param name="tryBegin">Begins the next batch on the thread that owns the queue.</param>
internal sealed class RunQueue(Func<BatchSource, BatchResult> tryBegin)
{
    private ReadyRequests _ready;
    private RecordOutput? _output;
    private long _batch;
    private LoadMeter _load;

    public bool IsEmpty => _ready.IsEmpty;

    /// <summary>Whether more events than this batch wait for the thread.</summary>
    public bool HasMore { get; private set; }

    /// <summary>Whether its requests take so much time that others would often wait for one of them.</summary>
    public bool IsBusy => _load.IsBusy;
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

    public FastCgiRequest RemoveFirst() => _ready.RemoveFirst();

    public IReadOnlyList<Action> TakeReports() => _ready.TakeReports();

    public void End() => Volatile.Write(ref _output, null);

    /// <summary>Counts the time of a request, whichever thread runs it.</summary>
    public void CountWork(long microseconds) => _load.Count(microseconds);

    public void UpdateLoad(long microseconds) => _load.Update(microseconds);
}

/// <summary>Measures the share of time that the requests of a loop take. A mutable struct: do not copy it.</summary>
internal struct LoadMeter
{
    // In microseconds. A client that is interrupted for some milliseconds does not make a loop quiet.
    private const long Window = 2_000;
    private const long Memory = 16_000;

    // Busy is at least a quarter. Below that, a request rarely waits for another.
    private const long BusyShare = 4;

    private long _updated;
    private long _elapsed;
    private long _work;

    public bool IsBusy { get; private set; }

    public void Count(long microseconds) => _work += microseconds;

    public void Update(long now)
    {
        if (now - _updated < Window)
            return;

        _elapsed += now - _updated;
        _updated = now;
        while (_elapsed > Memory)
        {
            _elapsed /= 2;
            _work /= 2;
        }

        IsBusy = _work * BusyShare >= _elapsed;
    }
}
