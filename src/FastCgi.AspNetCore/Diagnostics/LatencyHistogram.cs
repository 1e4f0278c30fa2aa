using System.Numerics;

namespace FastCgi.AspNetCore.Diagnostics;

/// <summary>Counts durations from a microsecond to an hour, accurate within 13 %.</summary>
internal sealed class LatencyHistogram
{
    public const int BucketCount = 32 * Steps;

    private const int Steps = 8;
    private const int StepBits = 3;

    private readonly long[] _counts = new long[BucketCount];

    public void Add(long microseconds) => Interlocked.Increment(ref _counts[GetBucket(microseconds)]);

    public long[] GetCounts() => [.. _counts];

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

    public static TimeSpan? GetPercentile(long[] counts, double part)
    {
        var total = counts.Sum();
        if (total <= 0)
            return null;

        var rank = Math.Max(1, (long)Math.Ceiling(total * part));
        var bucket = 0;
        while ((rank -= counts[bucket]) > 0)
            bucket++;
        return TimeSpan.FromMicroseconds(GetUpperBound(bucket));
    }
}
