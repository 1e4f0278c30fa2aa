using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>Files as bodies: their parts, and what is left to the web server.</summary>
public sealed class ResponseSendFileTests : IDisposable
{
    private readonly ResponseRig _rig = new();
    private readonly ScratchFolder _folder = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose()
    {
        _rig.Dispose();
        _folder.Dispose();
    }

    [Theory]
    [InlineData(0L, null, 10)]
    [InlineData(10L, null, 0)]
    [InlineData(0L, 10L, 10)]
    [InlineData(0L, 0L, 0)]
    [InlineData(4L, 6L, 6)]
    [InlineData(4L, 2L, 2)]
    public void FilePart_OfAFile_HasThatLength(long offset, long? count, int length)
        => Assert.Equal((offset, length), (FilePart.Check(WriteFile(10), offset, count).Offset, (int)FilePart.Check(WriteFile(10), offset, count).Length));

    [Theory]
    [InlineData(-1L, null, "offset")]
    [InlineData(11L, null, "offset")]
    [InlineData(0L, -1L, "count")]
    [InlineData(0L, 11L, "count")]
    [InlineData(5L, 6L, "count")]
    public void FilePart_ThatTheFileHasNot_IsRefused(long offset, long? count, string parameter)
        => Assert.Equal(parameter, Assert.Throws<ArgumentOutOfRangeException>(() => FilePart.Check(WriteFile(10), offset, count)).ParamName);

    [Theory]
    [InlineData(150_000, 0L, null)]
    [InlineData(150_000, 100L, 70_000L)]
    [InlineData(10, 3L, 0L)]
    public async Task SendFile_APart_IsItsBytes(int length, long offset, long? count)
    {
        var path = WriteFile(length);
        _rig.Begin();

        await Response.SendFileAsync(path, offset, count);
        Response.Finish();

        Assert.Equal(File.ReadAllBytes(path).AsSpan((int)offset, (int)(count ?? length - offset)).ToArray(), System.Text.Encoding.Latin1.GetBytes(_rig.Body));
    }

    /// <summary>.NET needs descriptors for threads.</summary>
    [Theory]
    [InlineData(1_000_000, false)]
    [InlineData(2, true)]
    public async Task SendFile_WithOneOfTheLastDescriptors_IsNotSent(long limit, bool isRefused)
    {
        var path = WriteFile(10);
        _rig.Begin(new ResponseSettings { GetMaxDescriptors = () => limit });

        var error = await Record.ExceptionAsync(() => Response.SendFileAsync(path, 0, null));

        Assert.Equal(isRefused, error is IOException);
        Assert.Equal(isRefused, error?.Message.Contains("Raise LimitNOFILE=", StringComparison.Ordinal) == true);
        Assert.False(isRefused && Response.HasStarted);
        // It is closed.
        using var whole = File.Open(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None);
    }

    /// <summary>With a count all of it was promised; without one the end is wherever it is by now.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task SendFile_ThatIsCutMeanwhile_ThrowsIfTheCountIsShort(bool hasCount)
    {
        var path = WriteFile(150_000);
        _rig.Transport.OnSend = () => File.WriteAllBytes(path, new byte[100]);
        _rig.Begin();

        var error = await Record.ExceptionAsync(() => Response.SendFileAsync(path, 0, hasCount ? 150_000 : null));

        Assert.Equal(hasCount, error is IOException);
        if (hasCount)
            Assert.Contains($"{150_000 - ResponseStaging.MaxLeaseLength} of 150000 bytes are missing", error!.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task SendFile_PeerIsGone_EndsWithTheFirstPart()
    {
        var path = WriteFile(150_000);
        _rig.Begin();
        _rig.Drop();

        await Response.SendFileAsync(path, 0, null);

        Assert.Equal(ResponseStaging.MaxLeaseLength, Response.BytesWritten);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Response.SendFileAsync(path, 0, 0, new CancellationToken(canceled: true)));
    }

    [Fact]
    public async Task SendFile_Head_StartsTheResponse()
    {
        _rig.Begin(isHead: true);

        await Response.SendFileAsync(WriteFile(10), 0, null);

        Assert.Equal("O18", _rig.Layout);
    }

    [Theory]
    [InlineData(false, 206)]
    [InlineData(true, 206)]
    [InlineData(true, 200)]
    public async Task Offload_FileOfARoot_IsAHeaderAndAll(bool isReplaced, int status)
    {
        var path = WriteFile(10);
        BeginWithOffload();
        _rig.Owner.RequestHeaders["Range"] = "bytes=0-";
        if (isReplaced)
            Response.Headers = new HeaderDictionary();
        Response.StatusCode = status;
        Response.Headers.ContentLength = 10;
        Response.Headers["Content-Range"] = "bytes 0-9/10";
        Response.Headers["Accept-Ranges"] = "bytes";

        await Response.SendFileAsync(path, 0, null);

        Assert.Equal("Content-Length: 10\r\nX-Accel-Redirect: /protected/file\r\nStatus: 200 OK\r\n\r\n", _rig.Stdout);
        Assert.Equal((status, 10L, true), (Response.StatusCode, Response.BytesWritten, Response.IsCompleted));
        Assert.Single(_rig.Owner.Logs.All, static log => log.EventName == "FileOffloaded");
        Response.Finish();
        _rig.Close();

        // Nothing of it is left for the next response.
        _rig.Begin();
        Response.StatusCode = 404;
        Response.Finish();
        Assert.EndsWith("Status: 404 Not Found\r\n\r\n", _rig.Stdout, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("started")]
    [InlineData("authorizer")]
    [InlineData("started by a callback")]
    [InlineData("put")]
    [InlineData("vary by a callback")]
    public async Task Offload_OfAResponseThatCannotBeAFile_IsStreamed(string why)
    {
        var path = WriteFile(10);
        BeginWithOffload(isAuthorizer: why == "authorizer");
        Response.Headers.ContentLength = 10;
        var put = 0;
        if (why == "started")
            await Response.StartAsync();
        else if (why == "put")
            _rig.Put(new string('x', put = 1));
        else if (why.EndsWith("callback", StringComparison.Ordinal))
            Response.OnStarting(CallbackAsync, this);

        await Response.SendFileAsync(path, put, 10 - put);
        Response.Finish();

        Assert.DoesNotContain("X-Accel-Redirect", _rig.Stdout, StringComparison.Ordinal);
        Assert.Equal(10, _rig.Body.Length);
        Assert.Equal(why is "put" or "vary by a callback" ? 1 : 0, _rig.Owner.Logs.All.Count(static log => log.EventName == "FileStreamed"));

        async Task CallbackAsync(object state)
        {
            if (why.StartsWith("started", StringComparison.Ordinal))
                await Response.StartAsync();
            else
                Response.Headers["Vary"] = "Accept";
        }
    }

    [Fact]
    public async Task Offload_BehindACallbackThatThrows_IsNoFile()
    {
        BeginWithOffload();
        Response.Headers.ContentLength = 10;
        Response.OnStarting(static _ => throw new FormatException("on purpose"), this);

        await Assert.ThrowsAsync<ObjectDisposedException>(() => Response.SendFileAsync(WriteFile(10), 0, null));

        Assert.False(Response.HasStarted);
        Assert.True(Response.TryFinishAsError(404));
        Assert.Equal("Content-Length: 0\r\nStatus: 404 Not Found\r\n\r\n", _rig.Stdout);
    }

    private void BeginWithOffload(bool isAuthorizer = false)
    {
        var options = new FastCgiSendFileOptions();
        options.AddXAccelRedirect(_folder.Path, "/protected/");
        _rig.Begin(new ResponseSettings { SendFileOffload = new SendFileOffload(options) }, isAuthorizer: isAuthorizer);
    }

    private string WriteFile(int length)
    {
        var bytes = new byte[length];
        for (var i = 0; i < length; i++)
            bytes[i] = (byte)((i * 31) ^ (i >> 8));
        return _folder.Write("file", bytes);
    }
}
