using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Execution;

/// <summary>What the handler of a request is likely to do with the thread that calls it.</summary>
internal enum PathBehaviour
{
    /// <summary>It returns soon, finished.</summary>
    Returns,

    /// <summary>It returns soon, and goes on later, where .NET puts what comes back from <c>await</c>: on the thread pool.</summary>
    Awaits,

    /// <summary>It blocks, or computes.</summary>
    KeepsThread,
}

/// <summary>
/// Predicts what requests do, as a processor predicts branches: two tables of two-bit counters by <see cref="PathKey"/>. Races and
/// keys that share an entry cost a wrong prediction, and nothing else.
/// </summary>
internal sealed class PathPredictor(ThreadPlatform platform, TimeProvider time)
{
    private const int Size = 4_096;
    private const byte Surely = 3;
    private const byte Likely = 2;

    private readonly byte[] _keeps = new byte[Size];
    private readonly byte[] _awaits = new byte[Size];

    /// <summary>What a request is likely to do.</summary>
    public PathBehaviour Predict(int pathKey)
    {
        if (_keeps[Index(pathKey)] >= Likely)
            return PathBehaviour.KeepsThread;

        return _awaits[Index(pathKey)] >= Likely ? PathBehaviour.Awaits : PathBehaviour.Returns;
    }

    /// <summary>A request has stalled a queue, which is dear.</summary>
    public void OnStalled(int pathKey) => _keeps[Index(pathKey)] = Surely;

    /// <summary>Executes a request on a thread that nobody else waits for, and learns from it.</summary>
    /// <param name="request">The request.</param>
    /// <param name="shortTime">Whoever returns in this time has not kept the thread, whatever it met.</param>
    public void Execute(FastCgiRequest request, TimeSpan shortTime)
    {
        var pathKey = PathKey.Compute(request.Path);
        var startedAt = time.GetTimestamp();
        var before = platform.GetUsageOfThisThread();
        var hasReturned = request.Execute();
        var isLong = time.GetElapsedTime(startedAt) > shortTime;
        OnExecuted(pathKey, isLong && platform.GetUsageOfThisThread().HasKeptThread(before));
        OnReturned(pathKey, isAwaiting: !hasReturned);
    }

    /// <summary>A request has run on a thread that nobody else waits for.</summary>
    /// <param name="pathKey">Its path.</param>
    /// <param name="hasKeptThread">Whether it has slept or computed there.</param>
    public void OnExecuted(int pathKey, bool hasKeptThread) => Count(ref _keeps[Index(pathKey)], hasKeptThread);

    /// <summary>The handler of a request has returned.</summary>
    /// <param name="pathKey">Its path.</param>
    /// <param name="isAwaiting">Whether it goes on later.</param>
    public void OnReturned(int pathKey, bool isAwaiting) => Count(ref _awaits[Index(pathKey)], isAwaiting);

    // What does not change is not written: all threads share the tables.
    private static void Count(ref byte counter, bool isUp)
    {
        if (isUp && counter < Surely)
            counter++;
        else if (!isUp && counter > 0)
            counter--;
    }

    private static int Index(int pathKey) => pathKey & (Size - 1);
}
