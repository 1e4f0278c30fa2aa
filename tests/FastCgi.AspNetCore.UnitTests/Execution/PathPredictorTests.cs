using FastCgi.AspNetCore.Execution;

namespace FastCgi.AspNetCore.UnitTests.Execution;

public sealed class PathPredictorTests
{
    // With a digit each, because the keys of paths without one differ from process to process, and two of them may share an entry.
    private static readonly PathKey Path = new("/folder1/path");

    private readonly PathPredictor _predictor = new(new SystemThreadPlatform(NullLogger.Instance), TimeProvider.System);

    [Fact]
    public void Predict_NothingKnown_Returns() => Assert.False(_predictor.KeepsThread(Path));

    [Fact]
    public void Predict_StalledOnce_KeepsThread()
    {
        _predictor.OnStalled(Path);

        Assert.True(_predictor.KeepsThread(Path));
        Assert.False(_predictor.KeepsThread(new PathKey("/elsewhere1")));
    }

    [Fact]
    public void Predict_StalledThenTwoThatDidNotKeep_Returns()
    {
        _predictor.OnStalled(Path);
        _predictor.OnExecuted(Path, hasKeptThread: false);
        Assert.True(_predictor.KeepsThread(Path));

        _predictor.OnExecuted(Path, hasKeptThread: false);
        Assert.False(_predictor.KeepsThread(Path));
    }

    [Fact]
    public void Predict_OneThatStalledReturns_SaysNothingOfItsSiblings()
    {
        _predictor.OnStalled(Path);
        _predictor.OnStalled(new PathKey("/folder1/other"));

        _predictor.OnExecuted(Path, hasKeptThread: false);

        Assert.True(_predictor.KeepsThread(new PathKey("/folder1/new")));
    }

    [Fact]
    public void Predict_PooledKeptOnceAmongMany_IsUnmoved()
    {
        _predictor.OnExecuted(Path, hasKeptThread: true);
        Assert.False(_predictor.KeepsThread(Path));

        _predictor.OnExecuted(Path, hasKeptThread: true);
        Assert.True(_predictor.KeepsThread(Path));
    }

    [Fact]
    public void Predict_NegativeHash_IsAPathLikeAnother()
    {
        var path = Enumerable.Range(0, 1_000).Select(static i => new PathKey($"/{(char)('a' + (i % 26))}{i}")).First(static path => path.Own < 0);

        _predictor.OnStalled(path);

        Assert.True(_predictor.KeepsThread(path));
    }

    [Fact]
    public void Predict_OneSiblingStalled_Returns()
    {
        _predictor.OnStalled(Path);
        _predictor.OnStalled(new PathKey("/other1/path"));

        Assert.False(_predictor.KeepsThread(new PathKey("/folder1/sibling")));
    }

    [Fact]
    public void Predict_TwoSiblingsStalled_KeepsThread()
    {
        StallTwoSiblings();

        Assert.True(_predictor.KeepsThread(Path));
        // Neither the folder above, nor one below, nor one beside.
        Assert.False(_predictor.KeepsThread(new PathKey("/folder1")));
        Assert.False(_predictor.KeepsThread(new PathKey("/folder1/below/path")));
        Assert.False(_predictor.KeepsThread(new PathKey("/folder1s/path")));
    }

    [Fact]
    public void Predict_SiblingThatDidNotKeep_IsAnException()
    {
        StallTwoSiblings();
        _predictor.OnExecuted(new PathKey("/folder1/kept"), hasKeptThread: true);

        _predictor.OnExecuted(Path, hasKeptThread: false);

        Assert.False(_predictor.KeepsThread(Path));
        Assert.True(_predictor.KeepsThread(new PathKey("/folder1/further")));
    }

    [Fact]
    public void Predict_ExceptionThatStalls_KeepsThread()
    {
        StallTwoSiblings();
        _predictor.OnExecuted(Path, hasKeptThread: false);
        _predictor.OnStalled(Path);

        Assert.True(_predictor.KeepsThread(Path));
    }

    [Fact]
    public void Predict_SiblingsThatDoNotKeepAnyLonger_Returns()
    {
        StallTwoSiblings();

        foreach (var word in new[] { "one", "two", "three" })
            _predictor.OnExecuted(new PathKey($"/folder1/{word}"), hasKeptThread: false);

        Assert.False(_predictor.KeepsThread(new PathKey("/folder1/further")));
    }

    [Fact]
    public void Predict_VeryManySiblingsThatKeep_OthersAreUnmoved()
    {
        StallTwoSiblings();

        for (var i = 0; i < 100_000; i++)
            _predictor.OnExecuted(new PathKey($"/folder1/{Word(i)}"), hasKeptThread: true);

        var predicted = Enumerable.Range(0, 1_000).Count(i => _predictor.KeepsThread(new PathKey($"/page1{(char)('a' + (i % 26))}/{(char)('a' + (i / 26))}")));
        // Hashes differ from process to process. If that of one of the 26 folders is that of another path, its 39 pages go with it.
        Assert.InRange(predicted, 0, 100);
    }

    // Without a digit, so that nothing but its place tells that it is data.
    private static string Word(int number) => string.Concat(number.ToString(CultureInfo.InvariantCulture).Select(static digit => (char)('a' + digit - '0')));

    private void StallTwoSiblings()
    {
        _predictor.OnStalled(new PathKey("/folder1/first"));
        _predictor.OnStalled(new PathKey("/folder1/second"));
    }
}
