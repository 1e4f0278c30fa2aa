namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Written bytes: how they are counted, and when they are refused. Other tests compare with Kestrel.</summary>
public sealed class ResponseBodyTests
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    /// <summary>The property is obsolete for applications, yet some middleware uses it.</summary>
    [Fact]
    public void Body_Replaced_IsTheReplacement()
    {
        var property = typeof(IHttpResponseFeature).GetProperty("Body")!;
        _rig.Begin();
        Assert.Same(Response.Stream, property.GetValue(Response));
        using var own = new MemoryStream();

        property.SetValue(Response, own);

        Assert.Same(own, property.GetValue(Response));
    }

    [Fact]
    public void Headers_Replaced_AreCopied()
    {
        _rig.Begin();
        Response.Headers["X-Gone"] = "1";
        var headers = new HeaderDictionary { ["X-Kept"] = "2", ContentLength = 3 };
        Response.Headers = headers;
        headers["X-Late"] = "3";
        Response.Headers["X-Next"] = "4";

        Assert.Throws<InvalidOperationException>(() => _rig.Put("abcd"));
        _rig.Put("abc");
        Response.Finish();

        Assert.Equal(
            ["Content-Length: 3", "Status: 200 OK", "X-Kept: 2", "X-Next: 4"],
            _rig.Stdout.Split("\r\n\r\n")[0].Split("\r\n").Order());
    }
}
