using FastCgi.AspNetCore.Execution;
using Microsoft.Extensions.Logging.Abstractions;
using Xunit;

namespace FastCgi.AspNetCore.Tests.Execution;

public sealed class PathPredictorTests
{
    private const int Path = 4711;

    private readonly PathPredictor _predictor = new(new SystemThreadPlatform(NullLogger.Instance), TimeProvider.System);

    [Fact]
    public void Predict_NothingKnown_Returns() => Assert.Equal(PathBehaviour.Returns, _predictor.Predict(Path));

    [Fact]
    public void Predict_StalledOnce_KeepsThread()
    {
        _predictor.OnStalled(Path);

        Assert.Equal(PathBehaviour.KeepsThread, _predictor.Predict(Path));
        Assert.Equal(PathBehaviour.Returns, _predictor.Predict(Path + 1));
    }

    [Fact]
    public void Predict_StalledThenTwoThatDidNotKeep_Returns()
    {
        _predictor.OnStalled(Path);
        _predictor.OnExecuted(Path, hasKeptThread: false);
        Assert.Equal(PathBehaviour.KeepsThread, _predictor.Predict(Path));

        _predictor.OnExecuted(Path, hasKeptThread: false);
        Assert.Equal(PathBehaviour.Returns, _predictor.Predict(Path));
    }

    [Fact]
    public void Predict_PooledKeptOnceAmongMany_IsUnmoved()
    {
        _predictor.OnExecuted(Path, hasKeptThread: true);
        Assert.Equal(PathBehaviour.Returns, _predictor.Predict(Path));

        _predictor.OnExecuted(Path, hasKeptThread: true);
        Assert.Equal(PathBehaviour.KeepsThread, _predictor.Predict(Path));
    }

    [Fact]
    public void Predict_AwaitedTwice_Awaits()
    {
        _predictor.OnReturned(Path, isAwaiting: true);
        Assert.Equal(PathBehaviour.Returns, _predictor.Predict(Path));

        _predictor.OnReturned(Path, isAwaiting: true);
        Assert.Equal(PathBehaviour.Awaits, _predictor.Predict(Path));
    }

    [Fact]
    public void Predict_AwaitedOftenThenReturned_Returns()
    {
        for (var i = 0; i < 100; i++)
            _predictor.OnReturned(Path, isAwaiting: true);
        for (var i = 0; i < 2; i++)
            _predictor.OnReturned(Path, isAwaiting: false);

        Assert.Equal(PathBehaviour.Returns, _predictor.Predict(Path));
    }

    [Fact]
    public void Predict_AwaitsAndKeeps_KeepsThread()
    {
        for (var i = 0; i < 3; i++)
            _predictor.OnReturned(Path, isAwaiting: true);
        _predictor.OnStalled(Path);

        Assert.Equal(PathBehaviour.KeepsThread, _predictor.Predict(Path));
    }

    [Fact]
    public void Predict_NegativeHash_IsAPathLikeAnother()
    {
        _predictor.OnStalled(-1);

        Assert.Equal(PathBehaviour.KeepsThread, _predictor.Predict(-1));
    }
}
