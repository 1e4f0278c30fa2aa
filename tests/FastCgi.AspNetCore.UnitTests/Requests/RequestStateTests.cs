using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>The phases of a request: out of the table in one way, once, and only then in the pool.</summary>
public sealed class RequestStateTests
{
    [Theory]
    [InlineData("Ended")]
    [InlineData("Aborted")]
    [InlineData("Cut")]
    public void Leave_Running_IsDoneOnceAndThenItMayRetire(string name)
    {
        var how = Enum.Parse<RequestPhase>(name);
        var state = new RequestState();
        state.Begin();
        state.Run();

        Assert.True(state.TryLeave(how));
        Assert.Equal((how, false), (state.Phase, state.IsInTable));
        foreach (var late in new[] { RequestPhase.Ended, RequestPhase.Aborted, RequestPhase.Cut })
            Assert.False(state.TryLeave(late));
        state.Retire();
        Assert.Equal(RequestPhase.Pooled, state.Phase);
    }

    [Fact]
    public void Leave_NotRunning_IsRefused()
    {
        var state = new RequestState();

        Assert.False(state.TryLeave(RequestPhase.Ended));
        state.Begin();
        Assert.True(state.IsInTable);
        Assert.False(state.TryLeave(RequestPhase.Ended));
    }

    [Fact]
    public void Retire_WhileItRunsOrTwice_Throws()
    {
        var state = new RequestState();

        Assert.Throws<InvalidOperationException>(() => state.Retire());
        state.Begin();
        state.Run();
        Assert.Throws<InvalidOperationException>(() => state.Retire());
        Assert.Throws<InvalidOperationException>(() => state.Begin());
    }

    [Fact]
    public void Retire_BeforeAllParams_IsAllowed()
    {
        var state = new RequestState();
        state.Begin();

        state.Retire();

        state.Begin();
        Assert.Equal(RequestPhase.Receiving, state.Phase);
    }
}
