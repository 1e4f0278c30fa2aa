using System.Collections.Concurrent;
using System.Diagnostics;

namespace FastCgi.AspNetCore.Soak;

/// <summary>Counts the work of all lanes, and stops them.</summary>
internal sealed class Progress(long requests, TimeSpan? time)
{
    private const int MaxKeptFailures = 20;

    private readonly Stopwatch _watch = Stopwatch.StartNew();
    private readonly ConcurrentDictionary<string, long> _kinds = new();
    private readonly ConcurrentQueue<string> _failures = new();
    private long _count;
    private long _failed;
    private int _wraps;

    public bool IsRunning => Total < requests && (time is null || _watch.Elapsed < time);

    public long Total => Interlocked.Read(ref _count);

    public long Failed => Interlocked.Read(ref _failed);

    /// <summary>All lanes have ended.</summary>
    public void End() => _watch.Stop();

    /// <summary>The highest number of times that the ids of a connection wrapped around.</summary>
    public int Wraps => Volatile.Read(ref _wraps);

    public TimeSpan Elapsed => _watch.Elapsed;

    public IReadOnlyDictionary<string, long> Kinds => _kinds;

    public IReadOnlyCollection<string> Failures => _failures;

    public void Count(string kind, bool isRight, object answer)
    {
        _kinds.AddOrUpdate(kind, 1, static (_, count) => count + 1);
        Interlocked.Increment(ref _count);
        if (!isRight)
            Fail($"{kind}: {answer}");
    }

    public void Fail(string what)
    {
        Interlocked.Increment(ref _failed);
        if (_failures.Count < MaxKeptFailures)
            _failures.Enqueue(what);
    }

    public void NoteWraps(int wraps)
    {
        for (var seen = Wraps; wraps > seen; seen = Wraps)
        {
            if (Interlocked.CompareExchange(ref _wraps, wraps, seen) == seen)
                return;
        }
    }
}
