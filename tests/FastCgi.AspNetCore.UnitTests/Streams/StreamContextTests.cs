namespace FastCgi.AspNetCore.UnitTests.Streams;

public sealed class StreamContextTests
{
    [Theory]
    [InlineData(5, 5)]
    [InlineData(6, 5)]
    [InlineData(1_024, 854)]
    [InlineData(6_143, 5_120)]
    [InlineData(6_144, 5_120)]
    [InlineData(6_150, 5_126)]
    [InlineData(int.MaxValue, int.MaxValue - 1_024L)]
    public void CountForConnections_LeavesASixthAndAtMost1024(long limit, long count)
        => Assert.Equal(count, StreamContext.CountForConnections(limit));
}
