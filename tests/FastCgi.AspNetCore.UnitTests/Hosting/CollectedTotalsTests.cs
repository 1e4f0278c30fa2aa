using FastCgi.AspNetCore.UnitTests.Diagnostics;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>One walk over the connections for one collection.</summary>
public sealed class CollectedTotalsTests
{
    private readonly ManualTime _clock = new();
    private readonly CollectedTotals _totals;
    private int _walks;

    public CollectedTotalsTests()
        => _totals = new CollectedTotals(() => new CollectedTotals.Walk(new Totals(++_walks, 0, 0, 0), 0), _clock);

    [Fact]
    public void Collection_OfAllInstruments_IsOneWalkAndTheNextAnother()
    {
        foreach (var collection in (int[])[1, 2, 3])
        {
            foreach (var instrument in (int[])[1, 2, 4, 8, 16])
                Assert.Equal(collection, _totals.Read(instrument).Totals.Connections);
            Assert.Equal(collection, _walks);
        }
    }

    /// <summary>Two listeners, each of an instrument of its own.</summary>
    [Theory]
    [InlineData(100, 1)]
    [InlineData(101, 2)]
    public void Walk_OfAnother_IsTakenWhileItIsFresh(int milliseconds, int walks)
    {
        _totals.Read(1);
        _clock.Now += TimeSpan.FromMilliseconds(milliseconds);
        _totals.Read(2);

        Assert.Equal(walks, _walks);
    }

    /// <summary>A clock of the machine does not go back, one of the application's may.</summary>
    [Fact]
    public void Walk_ThatIsYetToCome_IsNotTaken()
    {
        _totals.Read(1);
        _clock.Now -= TimeSpan.FromMilliseconds(1);

        Assert.Equal(2, _totals.Read(2).Totals.Connections);
    }

    /// <summary>One that another has overtaken is its own collector's alone: no counter goes back.</summary>
    [Fact]
    public void Walk_ThatIsOvertaken_IsNotTakenByOthers()
    {
        var isFirst = true;
        CollectedTotals? totals = null;
        totals = new CollectedTotals(
            () =>
            {
                var number = ++_walks;
                if (isFirst)
                {
                    isFirst = false;
                    _clock.Now += TimeSpan.FromMilliseconds(1);
                    Assert.Equal(2, totals!.Read(1).Totals.Connections);
                }

                return new CollectedTotals.Walk(new Totals(number, 0, 0, 0), 0);
            },
            _clock);

        Assert.Equal(1, totals.Read(2).Totals.Connections);

        Assert.Equal(2, totals.Read(4).Totals.Connections);
    }
}
