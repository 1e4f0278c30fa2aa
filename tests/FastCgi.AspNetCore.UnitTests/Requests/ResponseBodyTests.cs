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

    /// <summary>
    /// Of headers that the application has put in place of the server's, those count that the response has started
    /// with.
    /// </summary>
    [Fact]
    public async Task Length_OfReplacedHeaders_CountsAsItWasAtTheStart()
    {
        _rig.Begin();
        var headers = new HeaderDictionary { ContentLength = 3 };
        Response.Headers = headers;
        Assert.Throws<InvalidOperationException>(() => _rig.Put("abcd"));
        await Assert.ThrowsAsync<InvalidOperationException>(() => _rig.WriteAsync("abcd").AsTask());
        Assert.Equal((false, 0L), (Response.HasStarted, Response.BytesWritten));

        await Response.StartAsync();
        headers.ContentLength = 1;
        _rig.Put("abc");
        headers.ContentLength = 10;
        Assert.Throws<InvalidOperationException>(() => _rig.Put("d"));
        // They are not checked again.
        headers["no name"] = "x";
        await Response.Writer.FlushAsync();
        Response.Finish();

        Assert.Equal("Content-Length: 3\r\nStatus: 200 OK\r\n\r\nabc", _rig.Stdout);
    }
}
