namespace FastCgi.AspNetCore.UnitTests.Execution;

public sealed class PathPredictorTests
{
    private readonly PathPredictor _predictor = new();

    /// <summary>
    /// Observations of paths (! stalled, k kept its thread, r returned), and predictions: keeps it (+) or not (-). Each
    /// path has a digit, because the keys of paths without one differ from process to process, and two of them may
    /// share an entry.
    /// </summary>
    [Theory]
    [InlineData("-/folder1/path")]
    [InlineData("!/folder1/path +/folder1/path -/elsewhere1")]
    [InlineData("!/folder1/path r/folder1/path -/folder1/path")]
    [InlineData("!/folder1/path k/folder1/path r/folder1/path +/folder1/path r/folder1/path -/folder1/path")]
    // A path that stalled once and then returns predicts nothing about its siblings.
    [InlineData("!/folder1/path !/folder1/other r/folder1/path +/folder1/new")]
    // One long call among many does not change the prediction for a pooled path.
    [InlineData("k/folder1/path -/folder1/path k/folder1/path +/folder1/path")]
    [InlineData("!/folder1/path !/other1/path -/folder1/sibling")]
    // Two siblings stalled: this does not affect the folders above, below, or beside.
    [InlineData("!/folder1/first !/folder1/second +/folder1/path -/folder1 -/folder1/below/path -/folder1s/path")]
    // A sibling that did not keep its thread is an exception, until it stalls.
    [InlineData("!/folder1/first !/folder1/second k/folder1/kept r/folder1/path -/folder1/path +/folder1/further")]
    [InlineData("!/folder1/first !/folder1/second r/folder1/path !/folder1/path +/folder1/path")]
    [InlineData("!/folder1/first !/folder1/second r/folder1/one r/folder1/two r/folder1/three -/folder1/further")]
    public void Predict_AfterMeasuredCalls_KeepsOrReturns(string history)
    {
        foreach (var step in history.Split(' '))
        {
            var path = new PathKey(step[1..]);
            if (step[0] == '!')
                _predictor.OnStalled(path);
            else if (step[0] is 'k' or 'r')
                _predictor.OnMeasured(path, new CallCost(1, step[0] == 'k'));
            else
                Assert.True(step[0] == '+' == _predictor.Predict(path).Sleeps, step);
        }
    }

    /// <summary>The times of the calls in microseconds, and the prediction for the next.</summary>
    [Theory]
    [InlineData(new[] { 3 }, 3, 3)]
    [InlineData(new[] { 100 }, 100, 100)]
    [InlineData(new[] { 3, 100, 100, 100, 100, 100, 100 }, 80, 100)]
    // A path that computes since recently leaves the loop after one call.
    [InlineData(new[] { 3, 3, 5_000 }, 151, 300)]
    [InlineData(new[] { 5_000, 3, 3, 3, 3, 3, 3 }, 3, 19)]
    public void Predict_AfterMeasuredCalls_FollowsTheLatest(int[] calls, int min, int max)
    {
        foreach (var microseconds in calls)
            _predictor.OnMeasured(new PathKey("/orders/17"), new CallCost(microseconds, IsAsleep: null));

        Assert.InRange(_predictor.Predict(new PathKey("/orders/18")).Microseconds, min, max);
    }

    /// <summary>
    /// Calls of a path (in microseconds; s slept, ! stalled, ? surprised), and whether the next must be measured.
    /// </summary>
    [Theory]
    [InlineData("", true)]
    [InlineData("5", false)]
    [InlineData("5 ?", true)]
    [InlineData("5 ? 5", false)]
    [InlineData("5 !", true)]
    [InlineData("5 100", true)]
    [InlineData("5 24", false)]
    // Compilation makes the first call long.
    [InlineData("5000 5 5", true)]
    [InlineData("5000 5 5 5 5 5 5 5", false)]
    // It slept only sometimes.
    [InlineData("300s", true)]
    [InlineData("300s 300s", true)]
    [InlineData("300s 300s 300s", false)]
    [InlineData("300s 300s 300s 300", true)]
    // For how long it sleeps does not matter. A measurement takes as long as a short query.
    [InlineData("300s 900s 300s 900s", false)]
    public void IsSure_CallsAgree(string calls, bool isUnsure)
    {
        var path = new PathKey("/orders/17");
        foreach (var call in calls.Split(' ', StringSplitOptions.RemoveEmptyEntries))
        {
            if (call == "?")
                _predictor.OnSurprise(path);
            else if (call == "!")
                _predictor.OnStalled(path);
            else
                _predictor.OnMeasured(
                    path,
                    new CallCost(int.Parse(call.TrimEnd('s'), CultureInfo.InvariantCulture), call.EndsWith('s')));
        }

        Assert.Equal(isUnsure, !_predictor.Predict(path).IsSure);
    }

    [Fact]
    public void Predict_NegativeHash_IsAPathLikeAnother()
    {
        var path = Enumerable.Range(0, 1_000).Select(static i => new PathKey($"/{(char)('a' + (i % 26))}{i}")).First(
            static path => path.Own < 0);

        _predictor.OnStalled(path);

        Assert.True(_predictor.Predict(path).Sleeps);
    }

    [Fact]
    public void Predict_ManyKeepingSiblings_OthersAreUnaffected()
    {
        _predictor.OnStalled(new PathKey("/folder1/first"));
        _predictor.OnStalled(new PathKey("/folder1/second"));

        for (var i = 0; i < 100_000; i++)
            _predictor.OnMeasured(new PathKey($"/folder1/{Word(i)}"), new CallCost(1, IsAsleep: true));

        var predicted = Enumerable.Range(0, 1_000).Count(
            i => _predictor.Predict(new PathKey($"/page1{(char)('a' + (i % 26))}/{(char)('a' + (i / 26))}")).Sleeps);
        // Hashes differ between processes. If one of the 26 folders has the same hash as another path, its 39 pages are
        // affected too.
        Assert.InRange(predicted, 0, 100);
    }

    /// <summary>Entries of paths that no longer come must not keep short paths unknown.</summary>
    [Fact]
    public void ShortPaths_AfterManyUniquePaths_AreStillLearned()
    {
        var paths = Enumerable.Range(0, 500).Select(static i => new PathKey($"/page{Word(i)}/index")).ToList();
        for (var i = 0; i < 20_000; i++)
            _predictor.OnMeasured(new PathKey($"/articles/{Word(i)}"), new CallCost(30, IsAsleep: i % 2 == 0));

        foreach (var path in paths)
        {
            for (var i = 0; i < 100; i++)
                _predictor.OnMeasured(path, new CallCost(5, IsAsleep: false));
        }

        // Some of the paths share an entry.
        Assert.InRange(paths.Count(path => _predictor.Predict(path).IsKnown), 400, 500);
    }

    /// <summary>Brief requests must not wait behind such a path.</summary>
    [Theory, Values(4, 8, 16)]
    public void LongPath_SomeCallsAreShort_StaysLong(int oneOf)
    {
        var path = new PathKey("/1");
        for (var i = 1; i <= 100; i++)
        {
            _predictor.OnMeasured(path, new CallCost(i % oneOf == 0 ? 5 : 20_000, IsAsleep: false));
            if (i > oneOf)
                Assert.True(_predictor.Predict(path).IsLong);
        }
    }

    // Without a digit, so that only its position identifies it as data.
    private static string Word(int number) => string.Concat(
        number.ToString(CultureInfo.InvariantCulture).Select(static digit => (char)('a' + digit - '0')));
}
