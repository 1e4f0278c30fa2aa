namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// How long requests take, and how many there are in a second. It is counted while somebody watches, and for ten minutes after; while
/// nobody does, a request costs the look at one flag.
/// </summary>
internal sealed class RequestStatistics(TimeProvider time)
{
    // Of the last minute there is a sample for each six seconds.
    private const int MaxSamples = 10;

    private static readonly TimeSpan s_sampleInterval = TimeSpan.FromSeconds(6);
    private static readonly TimeSpan s_watchTime = TimeSpan.FromMinutes(10);

    // Of every request, so without the way over a TimeSpan.
    private readonly double _microsecondsPerTick = 1_000_000d / time.TimestampFrequency;

    private readonly Lock _lock = new();
    private readonly Queue<Sample> _samples = new();
    private LatencyHistogram _histogram = new();
    private bool _isWatched;
    private long _watchedSince;
    private long _lastLook;
    private long _lastSample;

    /// <summary>Whether requests are counted.</summary>
    public bool IsWatched => Volatile.Read(ref _isWatched);

    /// <summary>Somebody looks: from now on requests are counted.</summary>
    /// <param name="totals">What the server has counted so far.</param>
    public void Watch(Totals totals)
    {
        lock (_lock)
        {
            _lastLook = time.GetTimestamp();
            if (_isWatched)
                return;

            _histogram = new LatencyHistogram();
            _samples.Clear();
            _watchedSince = _lastLook;
            AddSample(totals);
            Volatile.Write(ref _isWatched, true);
        }
    }

    /// <summary>Counts a request that has ended.</summary>
    /// <param name="beganAt">When it began; to the microsecond, if it did while somebody watched.</param>
    public void Add(long beganAt)
    {
        if (beganAt >= Volatile.Read(ref _watchedSince))
            _histogram.Add((long)((time.GetTimestamp() - beganAt) * _microsecondsPerTick));
    }

    /// <summary>Whether a sample is due, or the watch over. Called every second or so.</summary>
    public bool IsSampleDue(long now) => IsWatched && time.GetElapsedTime(Volatile.Read(ref _lastSample), now) >= s_sampleInterval;

    /// <summary>Takes a sample, unless nobody has looked for long.</summary>
    /// <param name="totals">What the server has counted so far.</param>
    public void OnSampleDue(Totals totals)
    {
        lock (_lock)
        {
            if (time.GetElapsedTime(_lastLook) > s_watchTime)
                Volatile.Write(ref _isWatched, false);
            else
                AddSample(totals);
        }
    }

    /// <summary>What happened since the first sample: in the last minute, or since somebody watches.</summary>
    /// <param name="totals">What the server has counted so far.</param>
    public RecentRequests GetRecent(Totals totals)
    {
        lock (_lock)
        {
            var counts = _histogram.Sum();
            if (!_samples.TryPeek(out var first))
                return new RecentRequests(TimeSpan.Zero, totals, totals, counts);

            for (var i = 0; i < counts.Length; i++)
                counts[i] -= first.Counts[i];
            return new RecentRequests(time.GetElapsedTime(first.At), first.Totals, totals, counts);
        }
    }

    private void AddSample(Totals totals)
    {
        if (_samples.Count == MaxSamples)
            _samples.Dequeue();
        var now = time.GetTimestamp();
        Volatile.Write(ref _lastSample, now);
        _samples.Enqueue(new Sample(now, totals, _histogram.Sum()));
    }

    private sealed record Sample(long At, Totals Totals, long[] Counts);
}

/// <summary>What the server has counted since its start.</summary>
internal readonly record struct Totals(long Connections, long Requests, long BytesReceived, long BytesSent);

/// <summary>What happened in the last minute, or since somebody watches.</summary>
/// <param name="Time">How long that is.</param>
/// <param name="Before">What was counted at its beginning.</param>
/// <param name="Now">What is counted now.</param>
/// <param name="Latencies">How long requests took: a <see cref="LatencyHistogram"/>.</param>
internal readonly record struct RecentRequests(TimeSpan Time, Totals Before, Totals Now, long[] Latencies)
{
    /// <summary>The requests of a second.</summary>
    public double RequestRate => GetRate(Now.Requests - Before.Requests);

    /// <summary>The connections of a second that were opened.</summary>
    public double ConnectionRate => GetRate(Now.Connections - Before.Connections);

    /// <summary>The bytes of a second that were received.</summary>
    public double ReceiveRate => GetRate(Now.BytesReceived - Before.BytesReceived);

    /// <summary>The bytes of a second that were sent.</summary>
    public double SendRate => GetRate(Now.BytesSent - Before.BytesSent);

    private double GetRate(long count) => Time > TimeSpan.Zero ? Math.Max(0, count) / Time.TotalSeconds : 0;
}
