using System.Reflection;
using System.Text;
using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>The object that serves one response after another: what each may do, and that nothing is left of the one before.</summary>
public sealed class FastCgiResponseTests : IDisposable
{
    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _rig.Dispose();

    [Fact]
    public async Task Begin_AfterAnotherResponse_NothingIsLeftOfIt()
    {
        _rig.Begin(new ResponseSettings { EncodingSelector = static _ => Encoding.UTF8 }, isHead: true);
        Response.AllowSynchronousIO = true;
        Response.DisableBuffering();
        Response.StatusCode = 404;
        Response.ReasonPhrase = "Gone";
        Response.Headers["X-Before"] = "1";
        Response.OnCompleted(static _ => Task.CompletedTask, this);
#pragma warning disable CS0618 // IHttpResponseFeature.Body is obsolete for applications, yet some middleware uses it.
        _rig.Feature.Body = new MemoryStream();
        await _rig.WriteAsync("hello");
        await Response.CompleteAsync();
        Assert.True(Response.Headers.IsReadOnly);
        Assert.InRange(Response.HeadLength, 1, 1_000);
        _rig.Close();

        _rig.Begin();

        Assert.Equal((200, null, 0, 0L), (Response.StatusCode, Response.ReasonPhrase, Response.HeadLength, Response.BytesWritten));
        Assert.Equal((false, false, false, false), (Response.HasStarted, Response.IsCompleted, Response.HasOnCompleted, Response.HasOnStarting));
        Assert.Equal((false, false), (Response.AllowSynchronousIO, Response.Headers.IsReadOnly));
        Assert.Empty(Response.Headers);
        Assert.Null(Response.Completion);
        Assert.Same(Response.Stream, _rig.Feature.Body);
#pragma warning restore CS0618
        // No encoding is chosen for it any more.
        Assert.Throws<InvalidOperationException>(() => Response.Headers["X"] = "é");
        Assert.Throws<ArgumentNullException>(() => Response.OnCompleted(null!, this));
        await _rig.WriteAsync("hello");
        Assert.True(Response.Finish());
        Assert.Equal("Status: 200 OK\r\n\r\nhello", _rig.Stdout);
        Assert.Empty(_rig.Owner.Told);
    }

    [Fact]
    public void Begin_AfterOneWithAnEncoding_ItsFieldsAreNotSentAgain()
    {
        _rig.Begin(new ResponseSettings { EncodingSelector = static _ => Encoding.UTF8 });
        Response.Headers["X-Before"] = "é";
        Response.Finish();
        Assert.StartsWith("X-Before: Ã©\r\n", _rig.Stdout, StringComparison.Ordinal);
        _rig.Close();

        _rig.Begin();
        Response.Headers["X-Now"] = "1";
        Response.Finish();

        Assert.Equal("X-Now: 1\r\nContent-Length: 0\r\nStatus: 200 OK\r\n\r\n", _rig.Stdout);
    }

    /// <summary>Those that a thread has put in while nobody was served.</summary>
    [Fact]
    public void Begin_CallbacksOfTheTimeBetween_AreForgotten()
    {
        _rig.Begin();
        Response.OnStarting(static _ => throw new InvalidOperationException(), this);
        Response.OnCompleted(static _ => throw new InvalidOperationException(), this);
        _rig.Drop();
        _rig.Close();

        Assert.False(Response.HasOnStarting);
        Assert.False(Response.HasOnCompleted);
        // A thread that comes late passes the check before the end, and puts its own in behind it.
        var lazy = (LazyResponseState)typeof(FastCgiResponse).GetField("_lazy", BindingFlags.Instance | BindingFlags.NonPublic)!.GetValue(Response)!;
        lazy.OnStarting.Push(static _ => throw new InvalidOperationException(), this);
        _rig.Begin();
        Assert.False(Response.HasOnStarting);
    }

    [Fact]
    public async Task AfterTheEnd_EverythingIsRefused()
    {
        _rig.Begin();
        var writer = Response.Writer;
        var stream = Response.Stream;
        Response.Finish();
        _rig.Close();

        Assert.Throws<ObjectDisposedException>(() => Response.StatusCode = 201);
        Assert.Throws<ObjectDisposedException>(() => Response.ReasonPhrase = "x");
        Assert.Throws<ObjectDisposedException>(() => Response.Headers = new HeaderDictionary());
        Assert.Throws<ObjectDisposedException>(() => Response.OnStarting(static _ => Task.CompletedTask, this));
        Assert.Throws<ObjectDisposedException>(() => Response.OnCompleted(static _ => Task.CompletedTask, this));
        Assert.Throws<ObjectDisposedException>(Response.OpenStandardError);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => Response.StartAsync());
        await Assert.ThrowsAsync<ObjectDisposedException>(Response.CompleteAsync);
        foreach (var late in new[] { writer, Response.Writer })
        {
            Assert.Throws<ObjectDisposedException>(() => late.GetMemory());
            Assert.Throws<ObjectDisposedException>(() => late.Advance(0));
            Assert.Throws<ObjectDisposedException>(() => late.UnflushedBytes);
            Assert.Throws<ObjectDisposedException>(late.CancelPendingFlush);
            Assert.Throws<ObjectDisposedException>(() => late.Complete());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => late.WriteAsync(new byte[1]).AsTask());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => late.FlushAsync().AsTask());
        }

        foreach (var late in new[] { stream, Response.Stream })
        {
            await Assert.ThrowsAsync<ObjectDisposedException>(() => late.WriteAsync(new byte[1]).AsTask());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => late.FlushAsync());
        }
    }

    [Fact]
    public async Task BodyObjects_TakenBetweenTwoResponses_AreOfNeither()
    {
        _rig.Begin();
        Response.Finish();
        _rig.Close();
        var writer = Response.Writer;
        var stream = Response.Stream;

        for (var i = 0; i < 3; i++)
        {
            _rig.Begin();
            await Assert.ThrowsAsync<ObjectDisposedException>(() => writer.WriteAsync(new byte[1]).AsTask());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => stream.WriteAsync(new byte[1]).AsTask());
            Response.Finish();
            _rig.Close();
        }
    }

    [Fact]
    public void BodyObjects_OfOneResponse_AreTheSameEachTime()
    {
        _rig.Begin();
        var (writer, stream) = (Response.Writer, Response.Stream);

        Assert.Same(writer, Response.Writer);
        Assert.Same(stream, Response.Stream);
        Response.Finish();
        _rig.Close();
        _rig.Begin();
        Assert.NotSame(writer, Response.Writer);
        Assert.NotSame(stream, Response.Stream);
    }

    [Theory]
    [InlineData(405, "Allow: OPTIONS\r\n")]
    [InlineData(503, "Retry-After: 1\r\n")]
    [InlineData(500, "")]
    [InlineData(400, "")]
    public void TryFinishAsError_EachStatus_HasItsHeaderAndNothingOfTheApplication(int status, string header)
    {
        _rig.Begin(new ResponseSettings { EncodingSelector = static _ => Encoding.UTF8 });
        Response.Headers["X-Gone"] = "é";
        Response.ReasonPhrase = "Mine";
        Response.OnStarting(static _ => Task.CompletedTask, this);
        Response.DisableBuffering();
        _rig.Put("gone");

        Assert.True(Response.TryFinishAsError(status));
        Assert.False(Response.HasOnStarting);
        Assert.Equal(0, Response.BytesWritten);

        Assert.StartsWith($"{header}Content-Length: 0\r\nStatus: {status} ", _rig.Stdout, StringComparison.Ordinal);
        Assert.DoesNotContain("Mine", _rig.Stdout, StringComparison.Ordinal);
        Assert.Empty(_rig.Body);
        _rig.Close();
        Assert.Equal(0, _rig.RentedCount);
    }

    [Theory]
    [InlineData(false, "no\n")]
    [InlineData(true, "")]
    public void TryFinishAsError_WithABody_IsPlainTextAndNotForHead(bool isHead, string body)
    {
        _rig.Begin(isHead: isHead);

        Assert.True(Response.TryFinishAsError(400, "no\n"));

        Assert.StartsWith("Content-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\nStatus: 400 ", _rig.Stdout, StringComparison.Ordinal);
        Assert.Equal(body, _rig.Body);
    }

    [Fact]
    public async Task TryFinishAsError_OfAResponseThatHasStarted_ChangesNothing()
    {
        _rig.Begin();
        await _rig.WriteAsync("partial");

        Assert.False(Response.TryFinishAsError(500));

        Assert.Equal((200, 7L), (Response.StatusCode, Response.BytesWritten));
        await Assert.ThrowsAsync<ObjectDisposedException>(() => _rig.WriteAsync("x").AsTask());
    }

    [Theory]
    [InlineData(null, 4, false, 200, false)]
    [InlineData(5L, 4, false, 200, true)]
    [InlineData(5L, 5, false, 200, false)]
    [InlineData(0L, 0, false, 200, false)]
    [InlineData(5L, 0, false, 304, false)]
    [InlineData(5L, 0, true, 200, false)]
    public async Task LengthMismatch_FewerBytesThanDeclared_UnlessThereIsNoBody(long? declared, int written, bool isHead, int status, bool isMismatch)
    {
        _rig.Begin(isHead: isHead);
        Response.StatusCode = status;
        Response.Headers.ContentLength = declared;
        if (written > 0)
            await _rig.WriteAsync(written);

        Assert.Equal(isMismatch ? $"Response Content-Length mismatch: too few bytes written ({written} of {declared})." : null, Record.Exception(() => Response.Finish())?.Message);
    }

    [Theory]
    [InlineData(false, 200, null, 9L)]
    [InlineData(false, 205, null, 9L)]
    [InlineData(true, 200, null, null)]
    [InlineData(false, 204, null, null)]
    [InlineData(false, 304, null, null)]
    [InlineData(false, 200, 5L, null)]
    public void FinalContentLength_IsTheServersWhereABodyCanBeAndNoneIsNamed(bool isHead, int status, long? named, long? length)
    {
        _rig.Begin(isHead: isHead);
        Response.StatusCode = status;
        Response.Headers.ContentLength = named;

        Assert.Equal(length, Response.GetFinalContentLength(9));
    }

    [Fact]
    public async Task OnCompleted_OneThatThrows_IsLoggedAndTheOthersAreCalled()
    {
        var called = new List<object>();
        _rig.Begin();
        Response.OnCompleted(NoteAsync, 1);
        Response.OnCompleted(static _ => throw new FormatException("on purpose"), 2);
        Response.OnCompleted(NoteAsync, 3);

        await Response.FireOnCompletedAsync();

        Assert.Equal([3, 1], called);
        Assert.False(Response.HasOnCompleted);
        Assert.IsType<FormatException>(Assert.Single(_rig.Owner.Logs.All, static log => log.EventName == "ApplicationError").Exception);

        async Task NoteAsync(object state)
        {
            await Task.Yield();
            called.Add(state);
        }
    }
}
