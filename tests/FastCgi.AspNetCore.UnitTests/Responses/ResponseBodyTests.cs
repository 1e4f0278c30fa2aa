using System.Buffers;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>What is written: how it is counted, when it is refused, and which flush is held for the end.</summary>
public sealed class ResponseBodyTests : IDisposable
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _rig.Dispose();

    [Fact]
    public void Body_Replaced_IsTheReplacement()
    {
#pragma warning disable CS0618 // IHttpResponseFeature.Body is obsolete for applications, yet some middleware uses it.
        _rig.Begin();
        var own = new MemoryStream();
        _rig.Feature.Body = own;
        Assert.Same(own, _rig.Feature.Body);
        Response.Finish();
        _rig.Close();

        Assert.Throws<ObjectDisposedException>(() => _rig.Feature.Body = own);
#pragma warning restore CS0618
    }

    [Fact]
    public void Advance_WithoutOrPastALease_IsRefusedAndNotCounted()
    {
        _rig.Begin();
        var writer = Response.Writer;

        Assert.Throws<InvalidOperationException>(() => writer.Advance(1));
        var length = writer.GetMemory(10).Length;
        Assert.Throws<ArgumentOutOfRangeException>(() => writer.Advance(-1));
        Assert.Throws<ArgumentOutOfRangeException>(() => writer.Advance(length + 1));
        Assert.Equal((0L, 0L), (Response.BytesWritten, writer.UnflushedBytes));
        writer.Advance(2);
        writer.Advance(length - 2);
        Assert.Equal((length, length), ((int)Response.BytesWritten, (int)writer.UnflushedBytes));
        // The lease is used up.
        Assert.Throws<InvalidOperationException>(() => writer.Advance(1));
    }

    [Fact]
    public async Task Advance_LeasedBeforeTheStart_IsRefused()
    {
        _rig.Begin();
        var writer = Response.Writer;
        writer.GetMemory(10);

        await Response.StartAsync();

        Assert.Throws<InvalidOperationException>(() => writer.Advance(1));
        Assert.Throws<ArgumentOutOfRangeException>(() => writer.GetMemory(-1));
    }

    /// <summary>Where no body is sent, it is refused once that is certain; but HEAD is answered like GET.</summary>
    [Theory]
    [InlineData(true, 200, false)]
    [InlineData(false, 204, true)]
    [InlineData(false, 304, true)]
    [InlineData(false, 200, false)]
    public async Task Body_BehindTheStart_IsRefusedByTheStatusOnly(bool isHead, int status, bool isRefused)
    {
        _rig.Begin(isHead: isHead);
        Response.StatusCode = status;
        await Response.StartAsync();

        foreach (var write in (Func<Task>[])[() => Task.Run(() => _rig.Put("abc")), () => _rig.WriteAsync("de").AsTask()])
        {
            var error = await Record.ExceptionAsync(write);
            Assert.Equal(isRefused ? $"Writing to the response body is invalid for responses with status code {status}." : null, error?.Message);
        }

        if (!isRefused)
            Assert.Equal(5, Response.BytesWritten);
        Response.Finish();
        Assert.Equal(isRefused || isHead ? "" : "abcde", _rig.Body);
    }

    [Fact]
    public void Body_PutBeforeAStatusWithoutOne_IsDropped()
    {
        _rig.Begin();
        _rig.Put("abc");
        Response.StatusCode = 204;

        Response.Finish();

        Assert.Equal("Status: 204 No Content\r\n\r\n", _rig.Stdout);
    }

    [Theory]
    [InlineData(204, 1L, "Setting the header Content-Length is not allowed")]
    [InlineData(205, 1L, "Responses with status code 205")]
    [InlineData(204, 0L, null)]
    [InlineData(205, 0L, null)]
    [InlineData(304, 7L, null)]
    [InlineData(1_000, null, "cannot have the status code 1000")]
    [InlineData(199, null, "cannot have the status code 199")]
    [InlineData(999, null, null)]
    [InlineData(200, null, null)]
    public async Task Start_StatusAndLength_AreChecked(int status, long? length, string? refusal)
    {
        _rig.Begin();
        Response.StatusCode = status;
        Response.Headers.ContentLength = length;

        var error = await Record.ExceptionAsync(() => Response.StartAsync());

        Assert.Equal(refusal is null, Response.HasStarted);
        if (refusal is not null)
        {
            Assert.Contains(refusal, Assert.IsType<InvalidOperationException>(error).Message, StringComparison.Ordinal);
            return;
        }

        Response.Finish();
        Assert.Equal(status != 204, _rig.Stdout.Contains("Content-Length", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Length_FirstWriteIsTooLong_ThrowsAndNothingHasStarted(bool isReplaced)
    {
        _rig.Begin();
        if (isReplaced)
            Response.Headers = new HeaderDictionary();
        Response.Headers.ContentLength = 3;

        var error = await Assert.ThrowsAsync<InvalidOperationException>(() => _rig.WriteAsync("abcd").AsTask());

        Assert.Equal("Response Content-Length mismatch: too many bytes written (4 of 3).", error.Message);
        Assert.Equal((false, 0L), (Response.HasStarted, Response.BytesWritten));
        await _rig.WriteAsync("ab");
        error = await Assert.ThrowsAsync<InvalidOperationException>(() => _rig.WriteAsync("cd").AsTask());
        Assert.Equal("Response Content-Length mismatch: too many bytes written (4 of 3).", error.Message);
        await _rig.WriteAsync("c");
        Response.Finish();
        Assert.Equal("abc", _rig.Body);
    }

    /// <summary>Of headers that the application has put in place of the server's, those count that the response has started with.</summary>
    [Fact]
    public async Task Length_OfReplacedHeaders_CountsAsItWasAtTheStart()
    {
        _rig.Begin();
        var headers = new HeaderDictionary { ContentLength = 3 };
        Response.Headers = headers;
        Assert.Throws<InvalidOperationException>(() => _rig.Put("abcd"));

        await Response.StartAsync();
        headers.ContentLength = 1;
        _rig.Put("abc");
        headers.ContentLength = 10;
        Assert.Throws<InvalidOperationException>(() => _rig.Put("d"));
        // They are not looked at again.
        headers["no name"] = "x";
        await Response.Writer.FlushAsync();
        Response.Finish();

        Assert.Equal("Content-Length: 3\r\nStatus: 200 OK\r\n\r\nabc", _rig.Stdout);
    }

    [Fact]
    public async Task Use_BehindTheCompletion_WritesThrowAndFlushesSayIt()
    {
        _rig.Begin();
        await Response.CompleteAsync();

        var flush = await Response.Writer.FlushAsync();
        Assert.Equal((true, false), (flush.IsCompleted, flush.IsCanceled));
        Assert.Throws<InvalidOperationException>(() => Response.Writer.GetMemory());
        Assert.Equal(
            "Writing is not allowed after writer was completed.",
            (await Assert.ThrowsAsync<InvalidOperationException>(() => _rig.WriteAsync("x").AsTask())).Message);
        await Response.StartAsync();
        await Response.CompleteAsync();
        Assert.Equal("O37 O0 End8", _rig.Layout);
    }

    /// <summary>The handler is not in its first call: only a flush that is likely the last is held.</summary>
    [Theory]
    [InlineData(null, "hello", false, true)]
    [InlineData(null, "", false, false)]
    [InlineData(null, "hello", true, false)]
    [InlineData(5L, "hello", false, true)]
    [InlineData(5L, "hello", true, true)]
    [InlineData(5L, "hell", false, false)]
    [InlineData(0L, "", false, true)]
    public async Task Flush_ThatIsLikelyTheLast_IsHeld(long? length, string text, bool disablesBuffering, bool isHeld)
    {
        var deadlines = new ResponseRig.Deadlines();
        _rig.Begin(new ResponseSettings { Deadlines = deadlines });
        Response.Headers.ContentLength = length;
        if (disablesBuffering)
            Response.DisableBuffering();

        var flush = await _rig.WriteAsync(text);

        Assert.Equal((false, false), (flush.IsCompleted, flush.IsCanceled));
        Assert.Equal((isHeld ? 1 : 0, isHeld ? 0 : 1), (deadlines.Count, _rig.Transport.SendCount));
        Assert.Equal(0, Response.Writer.UnflushedBytes);
    }

    [Fact]
    public async Task Flush_BehindTheHeaderBlock_IsNotHeld()
    {
        var deadlines = new ResponseRig.Deadlines();
        _rig.Begin(new ResponseSettings { Deadlines = deadlines });
        await Response.Writer.FlushAsync();

        await _rig.WriteAsync("hello");

        Assert.Equal((0, 2), (deadlines.Count, _rig.Transport.SendCount));
    }

    [Fact]
    public async Task UnflushedBytes_WithAHeldFlush_AreThoseBehindIt()
    {
        _rig.Begin(new ResponseSettings { Deadlines = new ResponseRig.Deadlines() });
        await _rig.WriteAsync("hello");
        _rig.Put("abc");
        Assert.Equal(3, Response.Writer.UnflushedBytes);

        Response.Output.Uncork(Response.Output.Generation);

        Assert.Equal((0L, "helloabc"), (Response.Writer.UnflushedBytes, _rig.Body));
    }

    [Fact]
    public async Task Stream_IsWrittenOnlyAndSynchronouslyIfAllowed()
    {
        _rig.Begin();
        var stream = Response.Stream;
        Assert.Equal((false, false, true), (stream.CanRead, stream.CanSeek, stream.CanWrite));
        Assert.True(Response.Writer.CanGetUnflushedBytes);
        foreach (var call in (Action[])[() => stream.Write([1], 0, 1), () => stream.Write(new byte[1].AsSpan()), stream.Flush])
            Assert.Contains("Synchronous operations are disallowed", Assert.Throws<InvalidOperationException>(call).Message, StringComparison.Ordinal);
        Assert.False(Response.HasStarted);

        Response.AllowSynchronousIO = true;
        stream.Flush();
        Assert.Equal("O18", _rig.Layout);
        stream.Write("abc"u8.ToArray(), 1, 2);
        stream.Write("de"u8);
        await Task.Factory.FromAsync(stream.BeginWrite, stream.EndWrite, "xfx"u8.ToArray(), 1, 1, state: null);
        Assert.Equal("bcdef", _rig.Body);
        Assert.ThrowsAny<ArgumentException>(() => stream.Write(new byte[1], 0, 2));
        await Assert.ThrowsAnyAsync<ArgumentException>(() => stream.WriteAsync(new byte[1], 0, -1, CancellationToken.None));
        Assert.Throws<ArgumentNullException>(() => stream.Write(null!, 0, 0));
        await Assert.ThrowsAsync<ArgumentNullException>(() => stream.WriteAsync(null!, 0, 0, CancellationToken.None));
    }

    [Fact]
    public async Task Stream_WriteThatWaits_IsDoneWhenTheWriterIs()
    {
        _rig.Transport.Holds = true;
        _rig.Begin(new ResponseSettings { MaxBufferSize = 1_000 });
        await Response.Stream.FlushAsync();

        var write = Response.Stream.WriteAsync(new byte[1_000]).AsTask();
        Assert.False(write.IsCompleted);
        _rig.Transport.Complete();

        await write.Within("the write");
    }
}
