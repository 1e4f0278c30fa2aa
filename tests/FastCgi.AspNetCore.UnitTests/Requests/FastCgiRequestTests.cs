namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>A request is taken once, leaves its connection once, and then is over for good.</summary>
public sealed class FastCgiRequestTests
{
    private readonly ResponseRig _rig = new();

    [Theory]
    [InlineData("finish", nameof(RequestPhase.Ended), "O37 O0 End8")]
    [InlineData("cut", nameof(RequestPhase.Cut), "")]
    [InlineData("abort", nameof(RequestPhase.Aborted), "End8")]
    public void Leave_InOneWay_AllOthersDoNothing(string how, string phase, string layout)
    {
        var response = _rig.Begin();
        Assert.False(_rig.Request.TryClaim());
        var ways = new Dictionary<string, Action> { ["finish"] = response.Finish, ["cut"] = response.Cut, ["abort"] = () => _rig.Abort() };

        ways[how]();
        Assert.Equal((phase, true, how == "abort"), (_rig.Request.Phase.ToString(), _rig.Request.HasLeft, _rig.Request.IsAborted));
        foreach (var late in ways.Values)
            late();
        _rig.Outlet.FlushNow();

        Assert.Equal((phase, layout), (_rig.Request.Phase.ToString(), _rig.Layout));
        _rig.Complete();
        Assert.Equal((RequestPhase.Over, false, 0), (_rig.Request.Phase, _rig.Request.TryClaim(), _rig.RentedCount));
        Assert.Throws<ObjectDisposedException>(() => response.Writer.GetMemory());
    }
}
