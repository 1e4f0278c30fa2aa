namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Latencies and rates, recorded only if the status was read in the last ten minutes.</summary>
/// <param name="clock">The clock of the requests, which pauses while the process is suspended.</param>
/// <param name="time">The time that latencies and rates refer to: late ticks do not hold it up.</param>
internal sealed class RequestStatistics(TimeProvider clock, TimeProvider time)
{
    // Ten samples of six seconds cover the last minute.
    private const int MaxSamples = 10;

    private static readonly TimeSpan s_sampleInterval = TimeSpan.FromSeconds(6);
    private static readonly TimeSpan s_watchTime = TimeSpan.FromMinutes(10);

    // Used for every request: avoids TimeSpan.
    private readonly double _microsecondsPerTick = 1_000_000d / time.TimestampFrequency;

    private readonly Lock _lock = new();
    private readonly Queue<(long At, Totals Totals, long[] Counts)> _samples = new();
    private LatencyHistogram _histogram = new();
    private bool _isWatched;
    private long _watchedSince;
    private long _lastReadAt;
    private long _lastSample;

    public bool IsWatched => Volatile.Read(ref _isWatched);

    public void Watch(Totals totals)
    {
        using (_lock.Acquire())
        {
            _lastReadAt = clock.GetTimestamp();
            if (_isWatched)
                return;

            _histogram = new LatencyHistogram();
            _samples.Clear();
            _watchedSince = time.GetTimestamp();
            AddSample(totals);
            Volatile.Write(ref _isWatched, true);
        }
    }

    /// <param name="beganAt">The start; 0 if the request started before recording did.</param>
    public void Add(long beganAt)
    {
        if (beganAt > 0 && beganAt >= Volatile.Read(ref _watchedSince))
            _histogram.Add((long)((time.GetTimestamp() - beganAt) * _microsecondsPerTick));
    }

    public bool IsSampleDue(long now)
        => IsWatched && clock.GetElapsedTime(Volatile.Read(ref _lastSample), now) >= s_sampleInterval;

    /// <summary>Takes a sample, or stops recording if the status was not read for ten minutes.</summary>
    public void OnSampleDue(Totals totals)
    {
        using (_lock.Acquire())
        {
            if (clock.GetElapsedTime(_lastReadAt) > s_watchTime)
                Volatile.Write(ref _isWatched, false);
            else
                AddSample(totals);
        }
    }

    public RecentRequests GetRecent(Totals totals)
    {
        using (_lock.Acquire())
        {
            var counts = _histogram.GetCounts();
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
        Volatile.Write(ref _lastSample, clock.GetTimestamp());
        _samples.Enqueue((time.GetTimestamp(), totals, _histogram.GetCounts()));
    }
}

/// <param name="Active">The complete requests without a response, which are part of the requests.</param>
internal readonly record struct Totals(
    long Connections, long Requests, long BytesReceived, long BytesSent, long Active = 0);

internal readonly record struct RecentRequests(TimeSpan Time, Totals Before, Totals Now, long[] Latencies)
{
    public double RequestRate => GetRate(Now.Requests - Before.Requests);
    public double ConnectionRate => GetRate(Now.Connections - Before.Connections);
    public double ReceiveRate => GetRate(Now.BytesReceived - Before.BytesReceived);
    public double SendRate => GetRate(Now.BytesSent - Before.BytesSent);

    private double GetRate(long count) => Time > TimeSpan.Zero ? Math.Max(0, count) / Time.TotalSeconds : 0;
}
