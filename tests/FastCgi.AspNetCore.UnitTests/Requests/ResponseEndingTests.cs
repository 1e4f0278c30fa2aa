namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>How a response ends: by itself, by the application while that goes on, or as an error. The rest is asked of Kestrel too.</summary>
public sealed class ResponseEndingTests
{
    private ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    [Fact]
    public async Task Complete_WithAnExceptionAfterTheEnd_DoesNothing()
    {
        _rig.Begin();
        await Response.CompleteAsync();

        await Response.Writer.CompleteAsync(new FormatException("on purpose"));

        Assert.Null(_rig.Request.ApplicationError);
        Assert.Equal("O37 O0 End8", _rig.Layout);
    }

    /// <summary>What has failed is answered 500, whatever else is wrong with it: its headers are not asked, and nobody counts its bytes.</summary>
    [Fact]
    public async Task Complete_AfterACallbackThatThrows_IsA500AndNoOtherCallbackIsCalled()
    {
        _rig.Begin();
        Response.Headers = new HeaderDictionary { ["X Y"] = "no name", ContentLength = 10 };
        Response.OnStarting(static _ => throw new InvalidOperationException("is not called"), this);
        Response.OnStarting(static _ => throw new FormatException("on purpose"), this);

        await Response.CompleteAsync();

        Assert.IsType<FormatException>(_rig.Request.ApplicationError);
        Assert.False(Response.HasOnStarting);
        Assert.Equal("Content-Length: 0\r\nStatus: 500 Internal Server Error\r\n\r\n", _rig.Stdout);
    }

    /// <summary>In the headers too, for what looks at them later.</summary>
    [Theory]
    [InlineData("GET", 200, "", 0L)]
    [InlineData("GET", 205, "", 0L)]
    [InlineData("GET", 204, "", null)]
    [InlineData("GET", 304, "", null)]
    [InlineData("HEAD", 200, "", null)]
    [InlineData("GET", 200, "abc", null)]
    public void Finish_LengthIsNotNamed_ItIsTheServers(string method, int status, string text, long? length)
    {
        foreach (var isReplaced in new[] { false, true })
        {
            _rig = new();
            _rig.Begin(method: method);
            Response.StatusCode = status;
            if (isReplaced)
                Response.Headers = new HeaderDictionary();
            if (text.Length > 0)
                _rig.Put(text);

            Response.Finish();

            Assert.Equal(length, Response.Headers.ContentLength);
            Assert.Equal(text, _rig.Body);
            var sent = length ?? (text.Length > 0 ? text.Length : null);
            Assert.Equal(sent is null ? "Status" : $"Content-Length: {sent}", _rig.Stdout.Split("\r\n")[0][..(sent is null ? 6 : 17)]);
        }
    }

    [Theory]
    [InlineData("GET", null)]
    [InlineData("HEAD", 9L)]
    public async Task Finish_ReplacedHeadersThatAreFinalOrNameALength_AreLeftAlone(string method, long? length)
    {
        _rig.Begin(method: method);
        Response.Headers = new HeaderDictionary { ["X"] = "1", ContentLength = length };
        if (length is null)
            await Response.StartAsync();

        Response.Finish();

        Assert.Equal(length, Response.Headers.ContentLength);
        Assert.StartsWith("X: 1\r\n", _rig.Stdout, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(405, "Allow: OPTIONS\r\n")]
    [InlineData(503, "Retry-After: 1\r\n")]
    [InlineData(500, "")]
    public void TryFinishAsError_EachStatus_HasItsHeaderAndNothingOfTheApplication(int status, string header)
    {
        _rig.Options.ResponseHeaderEncodingSelector = static _ => Encoding.UTF8;
        _rig.Begin();
        Response.Headers["X-Gone"] = "é";
        Response.ReasonPhrase = "Mine";
        Response.OnStarting(static _ => Task.CompletedTask, this);
        Response.DisableBuffering();
        _rig.Put("gone");

        Assert.True(Response.TryFinishAsError(status));

        Assert.Equal((false, 0L, 0), (Response.HasOnStarting, Response.BytesWritten, _rig.RentedCount));
        Assert.StartsWith($"{header}Content-Length: 0\r\nStatus: {status} ", _rig.Stdout, StringComparison.Ordinal);
        Assert.DoesNotContain("Mine", _rig.Stdout, StringComparison.Ordinal);
        Assert.Empty(_rig.Body);
    }

    [Theory]
    [InlineData("GET", "no\n")]
    [InlineData("HEAD", "")]
    public void TryFinishAsError_WithABody_IsPlainTextAndNotForHead(string method, string body)
    {
        _rig.Begin(method: method);

        Assert.True(Response.TryFinishAsError(400, "no\n"));

        Assert.StartsWith("Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nStatus: 400 ", _rig.Stdout, StringComparison.Ordinal);
        Assert.Equal(body, _rig.Body);
    }

    /// <summary>It could not be called any more; while others are yet to be called, it can.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task OnCompleted_RegisteredWhenAllAreCalled_IsRefused(bool hasOne)
    {
        _rig.Begin();
        if (hasOne)
            Response.OnCompleted(static _ => Task.CompletedTask, this);
        Response.Finish();
        if (hasOne)
        {
            Response.OnCompleted(static _ => Task.CompletedTask, this);
            await Response.FireOnCompletedAsync();
        }
        else
        {
            _rig.Complete();
        }

        Assert.Throws<ObjectDisposedException>(() => Response.OnCompleted(static _ => Task.CompletedTask, this));
    }
}
