namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>Files as bodies: those that are not sent, and those that are not left to the web server.</summary>
public sealed class ResponseSendFileTests : IDisposable
{
    private readonly ResponseRig _rig = new();
    private readonly ScratchFolder _folder = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _folder.Dispose();

    /// <summary>.NET needs descriptors for threads.</summary>
    [Theory]
    [InlineData(1_000_000, false)]
    [InlineData(2, true)]
    public async Task SendFile_WithOneOfTheLastDescriptors_IsNotSent(long limit, bool isRefused)
    {
        var path = _folder.Write("file", new byte[10]);
        _rig.MaxDescriptors = limit;
        _rig.Begin();

        var error = await Record.ExceptionAsync(() => Response.SendFileAsync(path, 0, null));

        Assert.Equal(isRefused, error is IOException);
        Assert.Equal(isRefused, error?.Message.Contains("Raise LimitNOFILE=", StringComparison.Ordinal) == true);
        Assert.Equal(!isRefused, Response.HasStarted);
        // It is closed.
        using var whole = File.Open(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None);
    }

    [Theory]
    [InlineData("started")]
    [InlineData("started by a callback")]
    [InlineData("put")]
    [InlineData("vary by a callback")]
    public async Task Offload_OfAResponseThatCannotBeAFile_IsStreamed(string why)
    {
        var path = BeginWithOffload();
        var put = why == "put" ? 1 : 0;
        if (why == "started")
            await Response.StartAsync();
        else if (why == "put")
            _rig.Put("x");
        else
            Response.OnStarting(CallbackAsync, this);

        await Response.SendFileAsync(path, put, 10 - put);
        Response.Finish();

        Assert.DoesNotContain("X-Accel-Redirect", _rig.Stdout, StringComparison.Ordinal);
        Assert.Equal(10, _rig.Body.Length);
        Assert.Equal(why.StartsWith("started", StringComparison.Ordinal) ? 0 : 1, _rig.Logs.All.Count(static log => log.EventName == "FileStreamed"));

        async Task CallbackAsync(object state)
        {
            if (why.StartsWith("started", StringComparison.Ordinal))
                await Response.StartAsync();
            else
                Response.Headers["Vary"] = "Accept";
        }
    }

    [Fact]
    public async Task Offload_AfterACallbackThatThrows_IsNoFile()
    {
        var path = BeginWithOffload();
        Response.OnStarting(static _ => throw new FormatException("on purpose"), this);

        await Assert.ThrowsAsync<ObjectDisposedException>(() => Response.SendFileAsync(path, 0, null));

        Assert.False(Response.HasStarted);
        Assert.True(Response.TryFinishAsError(404));
        Assert.Equal("Content-Length: 0\r\nStatus: 404 Not Found\r\n\r\n", _rig.Stdout);
    }

    /// <summary>Begins a request whose answer is a file of ten bytes, which the web server may send.</summary>
    private string BeginWithOffload()
    {
        _rig.Options.SendFile.AddXAccelRedirect(_folder.Path, "/protected/");
        _rig.Begin();
        Response.Headers.ContentLength = 10;
        return _folder.Write("file", new byte[10]);
    }
}
