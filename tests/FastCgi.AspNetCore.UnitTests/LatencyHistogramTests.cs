namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Percentiles that are right within an eighth.</summary>
public sealed class LatencyHistogramTests
{
    [Fact]
    public void Bucket_EachDuration_IsWithinItsBounds()
    {
        for (var microseconds = 0L; microseconds < 5_000_000; microseconds += Math.Max(1, microseconds / 97))
        {
            var bucket = LatencyHistogram.GetBucket(microseconds);
            Assert.True(
                microseconds <= LatencyHistogram.GetUpperBound(bucket), $"{microseconds} µs is above its bucket.");
            Assert.True(
                bucket == 0 || microseconds > LatencyHistogram.GetUpperBound(bucket - 1),
                $"{microseconds} µs is below its bucket.");
            Assert.True(
                LatencyHistogram.GetUpperBound(bucket) <= (microseconds * 1.125) + 1,
                $"The bucket of {microseconds} µs is too wide.");
        }
    }

    [Theory]
    [InlineData(-5, 0)]
    [InlineData(0, 0)]
    [InlineData(7, 7)]
    [InlineData(8, 8)]
    [InlineData(long.MaxValue, LatencyHistogram.BucketCount - 1)]
    public void Bucket_AtTheEdges_IsInRange(long microseconds, int bucket)
        => Assert.Equal(bucket, LatencyHistogram.GetBucket(microseconds));

    [Fact]
    public void Percentiles_OfAThousandDurationsOrNone_AreWithinAnEighthOrUnknown()
    {
        var histogram = new LatencyHistogram();
        for (var i = 1; i <= 1_000; i++)
            histogram.Add(1_000L * i);

        var counts = histogram.GetCounts();

        foreach (var part in new[] { 0.5, 0.9, 0.99, 1 })
            Assert.InRange(
                LatencyHistogram.GetPercentile(counts, part)!.Value.TotalMilliseconds,
                part * 1_000,
                part * 1_000 * 1.13);
        Assert.Null(LatencyHistogram.GetPercentile(new long[LatencyHistogram.BucketCount], 0.5));
    }

    [Fact]
    public void Add_FromManyThreads_CountsEach()
    {
        var histogram = new LatencyHistogram();

        Parallel.For(0, 10_000, i => histogram.Add(i));

        Assert.Equal(10_000, histogram.GetCounts().Sum());
    }
}
