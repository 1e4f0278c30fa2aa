using System.Diagnostics;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Transport.Epoll;

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
/// Guesses what requests will do, as a processor guesses branches: two tables of two-bit counters by a hash of the path. Races and
/// paths that share a place cost a wrong guess, and nothing else.
/// </summary>
internal sealed class PathPredictor
{
    private const int Size = 4_096;
    private const byte Surely = 3;
    private const byte Likely = 2;

    private readonly byte[] _keeps = new byte[Size];
    private readonly byte[] _awaits = new byte[Size];

    /// <summary>What a request of a path is likely to do.</summary>
    public PathBehaviour Predict(int pathHash)
    {
        if (_keeps[Place(pathHash)] >= Likely)
            return PathBehaviour.KeepsThread;

        return _awaits[Place(pathHash)] >= Likely ? PathBehaviour.Awaits : PathBehaviour.Returns;
    }

    /// <summary>A request of a path has kept the thread of a loop, which is dear.</summary>
    public void OnLoopKept(int pathHash) => _keeps[Place(pathHash)] = Surely;

    /// <summary>Executes a request on a thread that is not a loop's, and learns from it.</summary>
    /// <param name="request">The request.</param>
    /// <param name="shortTime">Whoever returns in this time has not kept the thread, whatever it met.</param>
    public void Execute(FastCgiRequest request, TimeSpan shortTime)
    {
        var path = request.PathHash;
        var startedAt = Stopwatch.GetTimestamp();
        var before = ThreadUsage.OfThisThread();
        var hasReturned = request.Execute();
        var isLong = Stopwatch.GetElapsedTime(startedAt) > shortTime;
        OnExecuted(path, isLong && ThreadUsage.OfThisThread().HasKeptThread(before));
        OnReturned(path, isAwaiting: !hasReturned);
    }

    /// <summary>A request of a path has run on a thread that is not a loop's.</summary>
    /// <param name="pathHash">The path.</param>
    /// <param name="hasKeptThread">Whether it has slept or computed there.</param>
    public void OnExecuted(int pathHash, bool hasKeptThread) => Count(ref _keeps[Place(pathHash)], hasKeptThread);

    /// <summary>The handler of a request has returned.</summary>
    /// <param name="pathHash">The path.</param>
    /// <param name="isAwaiting">Whether it goes on later.</param>
    public void OnReturned(int pathHash, bool isAwaiting) => Count(ref _awaits[Place(pathHash)], isAwaiting);

    // What does not change is not written: the loops share the tables.
    private static void Count(ref byte counter, bool isUp)
    {
        if (isUp && counter < Surely)
            counter++;
        else if (!isUp && counter > 0)
            counter--;
    }

    private static int Place(int pathHash) => pathHash & (Size - 1);
}
