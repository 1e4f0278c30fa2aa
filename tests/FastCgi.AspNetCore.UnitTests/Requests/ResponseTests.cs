namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>How a response starts, and how it ends. Other tests compare with Kestrel.</summary>
public sealed class ResponseTests
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

    [Theory]
    [InlineData("GET", 405, "", "Allow: OPTIONS\r\nContent-Length: 0\r\n")]
    [InlineData("GET", 503, "", "Retry-After: 1\r\nContent-Length: 0\r\n")]
    [InlineData("GET", 500, "", "Content-Length: 0\r\n")]
    [InlineData("GET", 400, "no\n", "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n")]
    [InlineData("HEAD", 400, "no\n", "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n")]
    public void TryRespondForApplication_EachStatus_HasItsHeaderAndBodyAndNothingOfTheApplication(
        string method, int status, string text, string headers)
    {
        _rig.Options.ResponseHeaderEncodingSelector = static _ => Encoding.UTF8;
        _rig.Begin(method: method);
        Response.Headers["X-Gone"] = "é";
        Response.ReasonPhrase = "Mine";
        Response.OnStarting(static _ => Task.CompletedTask, this);
        Response.DisableBuffering();
        _rig.Put("gone");

        Assert.True(Response.TryRespondForApplication(status, text.Length == 0 ? null : text));

        Assert.Equal((false, 0), (Response.HasOnStarting, _rig.RentedCount));
        Assert.True(text.Length > 0 || _rig.Locked(scope => Response.In(scope).BytesWritten) == 0);
        Assert.StartsWith($"{headers}Status: {status} ", _rig.Stdout);
        Assert.DoesNotContain("Mine", _rig.Stdout);
        Assert.Equal(method == "HEAD" ? "" : text, _rig.Body);
    }

    /// <summary>.NET needs descriptors for threads.</summary>
    [Theory]
    [InlineData(1_000_000, false)]
    [InlineData(2, true)]
    public async Task SendFile_WithOneOfTheLastDescriptors_IsNotSent(long limit, bool isRefused)
    {
        using var folder = new ScratchFolder();
        var path = folder.Write("file", new byte[10]);
        _rig.MaxDescriptors = limit;
        _rig.Begin();

        var error = await Record.ExceptionAsync(() => Response.SendFileAsync(path, 0, null));

        Assert.Equal(isRefused, error is IOException);
        Assert.Equal(isRefused, error?.Message.Contains("Raise LimitNOFILE=") == true);
        Assert.Equal(!isRefused, Response.HasStarted);
        // It is closed.
        using var whole = File.Open(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None);
    }
}
