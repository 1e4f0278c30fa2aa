using System.Collections.Concurrent;
using System.Diagnostics;

namespace FastCgi.AspNetCore.Soak;

/// <summary>Counts the work of all lanes, and stops them.</summary>
internal sealed class Progress(long requests, TimeSpan? time)
{
    /// <summary>The number of requests in each compared rate.</summary>
    public const int WindowLength = 20_000;

    private const int MaxKeptFailures = 20;

    private readonly Stopwatch _watch = Stopwatch.StartNew();
    private readonly ConcurrentDictionary<string, long> _kinds = new();
    private readonly ConcurrentQueue<string> _failures = new();
    private readonly ConcurrentDictionary<long, TimeSpan> _windowEnds = new();
    private long _count;
    private long _failed;
    private int _wraps;

    public bool GoesOn => Total < requests && (time is null || _watch.Elapsed < time);

    public long Total => Interlocked.Read(ref _count);

    public long Failed => Interlocked.Read(ref _failed);

    /// <summary>All lanes have ended.</summary>
    public void End() => _watch.Stop();

    /// <summary>The highest number of times that the ids of a connection wrapped around.</summary>
    public int Wraps => Volatile.Read(ref _wraps);

    public TimeSpan Elapsed => _watch.Elapsed;

    public IReadOnlyDictionary<string, long> Kinds => _kinds;

    public IReadOnlyCollection<string> Failures => _failures;

    /// <summary>
    /// The rates, in requests per second, of the first 20,000 requests after the warm-up and of the last 20,000; 0 if
    /// there were too few.
    /// </summary>
    public (double First, double Last) GetRates()
    {
        var windows = _windowEnds.OrderBy(static end => end.Key).Select(static end => end.Value).ToList();
        return windows.Count < 3 ? (0, 0) : (GetRate(windows[0], windows[1]), GetRate(windows[^2], windows[^1]));
    }

    public void Count(string kind, bool isRight, object answer)
    {
        _kinds.AddOrUpdate(kind, 1, static (_, count) => count + 1);
        var count = Interlocked.Increment(ref _count);
        if (count % WindowLength == 0)
            _windowEnds[count] = _watch.Elapsed;
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

    private static double GetRate(TimeSpan start, TimeSpan end) => WindowLength / (end - start).TotalSeconds;
}
