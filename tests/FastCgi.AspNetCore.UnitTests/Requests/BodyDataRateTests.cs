using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>The arithmetic of a rate, in ticks of the system's clock.</summary>
public sealed class BodyDataRateTests
{
    private static readonly long s_second = TimeProvider.System.TimestampFrequency;

    private readonly BodyDataRate _rate = new(new MinDataRate(100, TimeSpan.FromSeconds(2)), now: 0);

    [Theory]
    [InlineData(299, true)]
    [InlineData(300, false)]
    public void Looks_OfASecondEach_CountOnesOverTheGrace(long received, bool isMissed)
    {
        Assert.False(Look(1));
        Assert.False(Look(2));
        Assert.Equal(isMissed, Look(3, received));
    }

    /// <summary>The process was stopped, or had no processor: the client is not to blame.</summary>
    [Fact]
    public void Look_AfterALongTime_CountsASecond()
    {
        Assert.False(Look(1_000));
        Assert.False(Look(2_000));
        Assert.True(Look(3_000));
    }

    [Theory]
    [InlineData(false, false)]
    [InlineData(true, true)]
    public void Looks_WithoutAWaitOrWhileReceivingIsPaused_CountNothing(bool isWaiting, bool isPaused)
    {
        for (var i = 1; i < 100; i++)
            Assert.False(Look(i, isWaiting: isWaiting, isPaused: isPaused));

        Assert.False(Look(100));
        Assert.False(Look(101));
        Assert.True(Look(102));
    }

    [Fact]
    public void Looks_WithWaitsBetweenThem_CountAsKestrels()
    {
        for (var i = 1; i <= 3; i++)
        {
            _rate.OnWaiting();
            Assert.Equal(i == 3, Look(i, isWaiting: false));
        }
    }

    private bool Look(int second, long received = 0, bool isWaiting = true, bool isPaused = false)
        => _rate.IsMissed(TimeProvider.System, second * s_second, isPaused, isWaiting, received);
}
