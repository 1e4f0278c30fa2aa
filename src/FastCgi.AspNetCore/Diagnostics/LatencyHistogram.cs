using System.Numerics;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>
/// Counts durations from a microsecond to an hour, accurate within 13 %. Counters per processor avoid sharing cache
/// lines.
/// </summary>
internal sealed class LatencyHistogram
{
    public const int BucketCount = 32 * Steps;

    private const int Steps = 8;
    private const int StepBits = 3;
    private const int MaxStripes = 16;

    private readonly long[][] _stripes = [.. Enumerable.Range(
        0, Math.Min(Environment.ProcessorCount, MaxStripes)).Select(static _ => new long[BucketCount])];

    public void Add(long microseconds)
    {
        var stripe = _stripes[(uint)Thread.GetCurrentProcessorId() % (uint)_stripes.Length];
        Interlocked.Increment(ref stripe[GetBucket(microseconds)]);
    }

    public long[] Sum()
    {
        var sum = new long[BucketCount];
        foreach (var stripe in _stripes)
        {
            for (var i = 0; i < BucketCount; i++)
                sum[i] += Volatile.Read(ref stripe[i]);
        }

        return sum;
    }

    public static int GetBucket(long microseconds)
    {
        var value = (ulong)Math.Max(microseconds, 0);
        if (value < Steps)
            return (int)value;

        // The power of two, and the three bits after its leading one.
        var exponent = BitOperations.Log2(value);
        var step = (int)(value >> (exponent - StepBits)) & (Steps - 1);
        return Math.Min(((exponent - StepBits + 1) * Steps) + step, BucketCount - 1);
    }

    public static long GetUpperBound(int bucket)
    {
        if (bucket < Steps)
            return bucket;

        var exponent = (bucket / Steps) - 1;
        return ((Steps + (bucket % Steps) + 1L) << exponent) - 1;
    }

    public static TimeSpan? GetPercentile(ReadOnlySpan<long> counts, double part)
    {
        long total = 0;
        foreach (var count in counts)
            total += count;
        if (total <= 0)
            return null;

        var rank = Math.Max(1, (long)Math.Ceiling(total * part));
        for (var i = 0; i < counts.Length; i++)
        {
            rank -= counts[i];
            if (rank <= 0)
                return TimeSpan.FromMicroseconds(GetUpperBound(i));
        }

        return null;
    }
}
