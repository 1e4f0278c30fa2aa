using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Execution;

/// <summary>
/// Predicts which handlers keep the thread that calls them: that block, or compute. As a processor predicts branches: tables of two-bit counters by <see cref="PathKey"/>. Races and keys
/// that share an entry cost a wrong prediction, and nothing else.
/// </summary>
/// <remarks>
/// Where paths that differ in their last segment only keep their threads one after another, a further one is taken for one of them until
/// it has shown otherwise: else each ever new path would stall a loop, and in time fill the table.
/// </remarks>
internal sealed class PathPredictor(ThreadPlatform platform, TimeProvider time)
{
    private const int Size = 4_096;
    private const byte Surely = 3;
    private const byte Likely = 2;

    private readonly byte[] _keeps = new byte[Size];
    private readonly byte[] _siblingsKeep = new byte[Size];
    private readonly byte[] _isException = new byte[Size];

    // Where nothing ever stalls, nobody pays for the keys of siblings.
    private bool _areSiblingsKnown;

    /// <summary>Whether the handler is likely to keep the thread that calls it.</summary>
    public bool KeepsThread(PathKey path) => _keeps[Index(path.Own)] >= Likely || IsLikeSiblings(path);

    /// <summary>A request has stalled a queue, which is dear.</summary>
    public void OnStalled(PathKey path)
    {
        _keeps[Index(path.Own)] = Surely;
        _isException[Index(path.Own)] = 0;
        Count(ref _siblingsKeep[Index(path.Siblings)], isUp: true);
        _areSiblingsKnown = true;
    }

    /// <summary>Executes a request on a thread that nobody else waits for, and learns from it.</summary>
    /// <param name="request">The request.</param>
    /// <param name="shortTime">Whoever returns in this time has not kept the thread, whatever it met.</param>
    public void Execute(FastCgiRequest request, TimeSpan shortTime)
    {
        var path = new PathKey(request.Path);
        var startedAt = time.GetTimestamp();
        var before = platform.GetUsageOfThisThread();
        request.Execute();
        // Aborted while it waited: the application was not called.
        if (!path.IsPath)
            return;

        var isLong = time.GetElapsedTime(startedAt) > shortTime;
        OnExecuted(path, isLong && platform.GetUsageOfThisThread().HasKeptThread(before));
    }

    /// <summary>A request has run on a thread that nobody else waits for.</summary>
    /// <param name="path">Its path.</param>
    /// <param name="hasKeptThread">Whether it has slept or computed there.</param>
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

    // What does not change is not written: all threads share the tables.
    private static void Count(ref byte counter, bool isUp)
    {
        if (isUp && counter < Surely)
            counter++;
        else if (!isUp && counter > 0)
            counter--;
    }

    private static int Index(int key) => key & (Size - 1);
}
