namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>What is released without having been taken is a bug of the server, which all tests report.</summary>
public sealed class CountInvariantTests
{
    [Fact]
    public void ApplicationReturned_NoRequestHasLeft_IsAViolation()
    {
        var rig = new ResponseRig();
        rig.Begin();
        rig.Complete();

        Assert.Throws<InvariantException>(rig.Connection.OnApplicationReturned);
    }

    [Fact]
    public void RequestOver_MoreOftenThanItLeft_IsAViolation()
    {
        var connection = new ResponseRig().Connection;

        Assert.Throws<InvariantException>(() =>
        {
            for (var i = 0; i < 2; i++)
                connection.EndUse();
        });
    }

    [Theory, Values(nameof(RequestSlot.Ordinary), nameof(RequestSlot.Status))]
    public void Release_SlotIsNotTaken_IsAViolation(string slot)
    {
        var options = new FastCgiServerOptions { Limits = { MaxConcurrentRequests = 1 } };
        var request = ResponseRig.CreateRequest([], options);
        request.Slot = Enum.Parse<RequestSlot>(slot);

        Assert.Throws<InvariantException>(() => new RequestAdmission(options, new FakeClock(), []).Release(request));
    }
}
