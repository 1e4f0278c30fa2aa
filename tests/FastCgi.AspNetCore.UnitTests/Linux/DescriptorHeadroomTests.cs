using FastCgi.AspNetCore.Linux;

namespace FastCgi.AspNetCore.UnitTests.Linux;

public sealed class DescriptorHeadroomTests
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
        => Assert.Equal(count, DescriptorHeadroom.CountForConnections(limit));

    [Theory]
    [InlineData(853, false)]
    [InlineData(854, true)]
    [InlineData(1_023, true)]
    [InlineData(0, false)]
    public void Includes_TheLastDescriptors(int descriptor, bool includes)
        => Assert.Equal(includes, new DescriptorHeadroom(static () => 1_024).Includes(descriptor));

    /// <summary>As prlimit(1) does. To ask is a system call, so it is asked only where it matters.</summary>
    [Fact]
    public void Includes_LimitChanges_IsThatOfNow()
    {
        var (limit, asked) = (1_024L, 0);
        var headroom = new DescriptorHeadroom(() =>
        {
            asked++;
            return limit;
        });

        limit = 2_048;
        Assert.False(headroom.Includes(853));
        Assert.Equal(1, asked);
        Assert.False(headroom.Includes(1_000));
        Assert.Equal(2, asked);
        Assert.False(headroom.Includes(1_706));
        Assert.Equal(2, asked);
        Assert.True(headroom.Includes(1_707));
        limit = 1_024;
        Assert.True(headroom.Includes(1_800));
        Assert.True(headroom.Includes(854));
    }
}
