namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Predicts which handlers keep the calling thread, by blocking or computing, and which await. Like the branch predictor of a processor, it has tables
/// of two-bit counters, indexed by <see cref="PathKey"/>. A race or a shared entry only costs a wrong prediction.
/// </summary>
/// <remarks>
/// If paths that differ only in the last segment keep their threads, a new one is expected to do the same until it has shown otherwise.
/// Without that, each new path would stall a loop and, in time, fill the table.
/// </remarks>
internal sealed class PathPredictor(ThreadPlatform platform, TimeProvider time)
{
    private const int Size = 4_096;
    private const byte Surely = 3;
    private const byte Likely = 2;

    private readonly byte[] _keeps = new byte[Size];
    private readonly byte[] _siblingsKeep = new byte[Size];
    private readonly byte[] _isException = new byte[Size];

    // With the rest of the key, so that ever-new paths that await do not speak for others: a client can send any number of them.
    private readonly int[] _awaits = new int[Size];

    // Avoids computing sibling keys while nothing has ever stalled.
    private bool _areSiblingsKnown;

    public bool KeepsThread(PathKey path) => _keeps[Index(path.Own)] >= Likely || IsLikeSiblings(path);

    /// <summary>Whether a handler returns before its response ends, so that the thread pool continues it.</summary>
    public bool Awaits(PathKey path) => GetAwaits(path) >= Likely;

    /// <summary>Learns from a handler that returned to its caller.</summary>
    public void OnReturned(PathKey path, bool awaits)
    {
        ref var entry = ref _awaits[Index(path.Own)];
        var counter = GetAwaits(path);
        Count(ref counter, awaits);
        // A path that does not await leaves the entry to the one that does.
        var changed = Tag(path.Own) | counter;
        if ((counter > 0 || Tag(entry) == Tag(path.Own)) && entry != changed)
            entry = changed;
    }

    /// <summary>Records that a request stalled a loop, which is expensive.</summary>
    public void OnStalled(PathKey path)
    {
        _keeps[Index(path.Own)] = Surely;
        _isException[Index(path.Own)] = 0;
        Count(ref _siblingsKeep[Index(path.Siblings)], isUp: true);
        _areSiblingsKnown = true;
    }

    /// <summary>Executes a request on a thread that no loop depends on, and learns from it.</summary>
    /// <param name="shortTime">A call that returns within this time has not kept the thread.</param>
    public void Execute(FastCgiRequest request, TimeSpan shortTime)
    {
        var path = new PathKey(request.Path);
        var startedAt = time.GetTimestamp();
        var before = platform.GetUsageOfThisThread();
        var hasEnded = request.Execute();
        // It was aborted while it waited, so the application was not called.
        if (!path.IsPath)
            return;

        OnReturned(path, awaits: !hasEnded);
        var isLong = time.GetElapsedTime(startedAt) > shortTime;
        OnExecuted(path, isLong && platform.GetUsageOfThisThread().HasKeptThread(before));
    }

    /// <summary>Learns from a request that ran on a thread that no loop depends on.</summary>
    public void OnExecuted(PathKey path, bool hasKeptThread)
    {
        if (_keeps[Index(path.Own)] != 0 || !IsLikeSiblings(path))
        {
            Count(ref _keeps[Index(path.Own)], hasKeptThread);
            return;
        }

        Count(ref _siblingsKeep[Index(path.Siblings)], hasKeptThread);
        if (!hasKeptThread)
            _isException[Index(path.Own)] = 1;
    }

    private bool IsLikeSiblings(PathKey path)
        => _areSiblingsKnown && _isException[Index(path.Own)] == 0 && _siblingsKeep[Index(path.Siblings)] >= Likely;

    private byte GetAwaits(PathKey path)
    {
        var entry = _awaits[Index(path.Own)];
        return Tag(entry) == Tag(path.Own) ? (byte)(entry & Surely) : (byte)0;
    }

    // Writes only what changes: all threads share the tables.
    private static void Count(ref byte counter, bool isUp)
    {
        if (isUp && counter < Surely)
            counter++;
        else if (!isUp && counter > 0)
            counter--;
    }

    private static int Index(int key) => key & (Size - 1);

    private static int Tag(int key) => key & ~(Size - 1);
}
