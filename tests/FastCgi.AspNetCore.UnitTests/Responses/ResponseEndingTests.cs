using FastCgi.AspNetCore.Responses;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>How a response ends: by itself, by the application while that goes on, as an error, or cut.</summary>
public sealed class ResponseEndingTests : IDisposable
{
    private const string BodyPipe = "The BodyPipe was completed with an exception.";

    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _rig.Dispose();

    [Theory]
    [InlineData(nameof(ResponseEnd.Complete), "O37 O0 End8")]
    [InlineData(nameof(ResponseEnd.CompleteWithFarewell), "O37 O0 End8 Farewell0")]
    [InlineData(nameof(ResponseEnd.None), "")]
    public void Finish_EachEnd_ItsRecords(string end, string layout)
    {
        _rig.Owner.End = Enum.Parse<ResponseEnd>(end);
        _rig.Begin();

        Assert.True(Response.Finish());

        Assert.Equal(layout, _rig.Layout);
        Assert.All(_rig.Transport.Records, static record => Assert.Equal(record.Type == RecordBytes.GetValuesResult ? 0 : ResponseRig.Id, record.Id));
        Assert.Equal(0, _rig.RentedCount);
    }

    [Theory]
    [InlineData(nameof(ResponseEnd.CutByEndRequest), "O23 End8")]
    [InlineData(nameof(ResponseEnd.CutByClose), "O23 Abort0")]
    [InlineData(nameof(ResponseEnd.CutByReset), "O23")]
    public async Task Cut_EachEnd_ItsRecordsAndNotWhatWasNotFlushed(string end, string layout)
    {
        _rig.Owner.End = Enum.Parse<ResponseEnd>(end);
        _rig.Begin();
        await _rig.WriteAsync("hello");
        _rig.Put("not flushed");

        Assert.Equal(_rig.Owner.End, Response.Cut());

        Assert.Equal(layout, _rig.Layout);
        if (end == nameof(ResponseEnd.CutByEndRequest))
            Assert.Equal([0, 0, 0, 1, 0, 0, 0, 0], _rig.Transport.Records[^1].Content);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => _rig.WriteAsync("x").AsTask());
        Assert.Equal(0, _rig.RentedCount);
    }

    [Fact]
    public async Task Cut_BehindAHeldFlush_SendsIt()
    {
        _rig.Begin(new ResponseSettings { Deadlines = new ResponseRig.Deadlines() });
        await _rig.WriteAsync("hello");
        Assert.Empty(_rig.Layout);
        Response.Writer.GetMemory();

        Response.Cut();

        Assert.Equal(("O23 End8", "hello"), (_rig.Layout, _rig.Body));
        Assert.Equal(0, _rig.RentedCount);
    }

    [Fact]
    public async Task Cut_WithLinesForTheErrorLog_EndsTheirStream()
    {
        _rig.Begin();
        await _rig.WriteAsync("hello");
        Response.OpenStandardError().Write("half a line");

        Response.Cut();

        Assert.Equal("O23 E12 E0 End8", _rig.Layout);
        _rig.Close();
        Assert.Equal(0, _rig.RentedCount);
    }

    [Fact]
    public async Task Finish_BehindTheApplicationsCompletion_DoesNothing()
    {
        _rig.Begin();
        var writer = Response.Writer;
        await Response.CompleteAsync();
        var sent = _rig.Layout;

        Assert.False(Response.Finish());

        Assert.Equal(sent, _rig.Layout);
        Assert.Throws<ObjectDisposedException>(() => writer.GetMemory());
    }

    [Fact]
    public async Task Complete_WhileThePeerDoesNotTakeIt_WaitsAndIsKnownUntilThen()
    {
        _rig.Transport.Holds = true;
        _rig.Begin();
        Assert.Null(Response.Completion);
        await Response.Writer.FlushAsync();
        _rig.Put("hello");

        var first = Response.CompleteAsync();
        var second = Response.CompleteAsync();

        Assert.True(second.IsCompletedSuccessfully);
        Assert.False(first.IsCompleted);
        Assert.False(Response.Completion!.IsCompleted);
        // There is no flush any more that could be cancelled.
        Response.Writer.CancelPendingFlush();
        Assert.True(Response.Output.IsFlushWaiting);
        _rig.Transport.Complete();
        await first.Within("the completion");
        await Response.Completion.Within("both of them");
    }

    [Fact]
    public async Task Complete_ThatIsDone_IsKnownAsDone()
    {
        _rig.Begin();

        await Response.CompleteAsync();

        Assert.True(Response.Completion!.IsCompletedSuccessfully);
    }

    [Fact]
    public async Task Complete_WithAnExceptionBehindTheEnd_DoesNothing()
    {
        _rig.Begin();
        await Response.CompleteAsync();

        await Response.Writer.CompleteAsync(new FormatException("on purpose"));

        Assert.Empty(_rig.Owner.Told);
    }

    [Fact]
    public async Task Complete_ThatFailsLater_FailsBothForTheCallerAndForTheEnd()
    {
        var go = Waiting.Signal();
        _rig.Begin();
        Response.OnStarting(
            async _ =>
            {
                await go.Task;
                Response.Headers.ContentLength = 10;
            },
            this);

        var caller = Response.CompleteAsync();
        Assert.False(Response.Completion!.IsCompleted);
        go.SetResult();

        var error = await Assert.ThrowsAsync<InvalidOperationException>(() => caller.Within("the completion"));
        Assert.Same(error, await Assert.ThrowsAsync<InvalidOperationException>(() => Response.Completion.Within("what is known of it")));
        Assert.Contains("too few bytes written (0 of 10)", error.Message, StringComparison.Ordinal);
        Assert.Empty(_rig.Layout);
    }

    [Fact]
    public async Task Complete_OfAnEarlierUse_IsRefusedAndNotKnown()
    {
        _rig.Begin();
        var writer = Response.Writer;
        Response.Finish();
        _rig.Close();
        _rig.Begin();
        Response.Headers.ContentLength = 10;

        await Assert.ThrowsAsync<ObjectDisposedException>(() => writer.CompleteAsync().AsTask());

        Assert.Null(Response.Completion);
        Assert.Empty(_rig.Layout);
        Response.Headers.ContentLength = 0;
        await Response.CompleteAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => writer.CompleteAsync().AsTask());
    }

    /// <summary>The object has gone on to another use while the callback was awaited.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Complete_WhoseUseEndsDuringACallback_DoesNotTouchTheNext(bool callbackThrows)
    {
        var go = Waiting.Signal();
        _rig.Begin();
        Response.OnStarting(
            async _ =>
            {
                await go.Task;
                if (callbackThrows)
                    throw new FormatException("on purpose");
            },
            this);
        var caller = Response.CompleteAsync();
        _rig.Drop();
        _rig.Close();
        _rig.Begin();
        Response.OnStarting(static _ => Task.CompletedTask, this);

        go.SetResult();

        await Assert.ThrowsAsync<ObjectDisposedException>(() => caller.Within("the completion"));
        Assert.Equal((false, true, null), (Response.HasStarted, Response.HasOnStarting, _rig.Owner.ApplicationError));
        Assert.Empty(_rig.Layout);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Complete_WithAnException_IsA500BeforeTheStart(bool isAsync)
    {
        _rig.Begin();
        _rig.Put("gone");

        if (isAsync)
            await Response.Writer.CompleteAsync(new FormatException("on purpose"));
        else
            Response.Writer.Complete(new FormatException("on purpose"));

        Assert.Equal([$"error {BodyPipe}"], _rig.Owner.Told);
        Assert.Equal("Content-Length: 0\r\nStatus: 500 Internal Server Error\r\n\r\n", _rig.Stdout);
        Assert.EndsWith("O0 End8", _rig.Layout, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Complete_WithAnExceptionBehindTheStart_Aborts(bool isHead)
    {
        _rig.Begin(isHead: isHead);
        await _rig.WriteAsync("hello");
        var sent = _rig.Layout;
        _rig.Owner.Told.Clear();

        await Response.Writer.CompleteAsync(new FormatException("on purpose"));

        Assert.Equal([$"error {BodyPipe}", "abort 7"], _rig.Owner.Told);
        Assert.Equal((sent, false), (_rig.Layout, Response.IsCompleted));
        Assert.DoesNotContain(_rig.Owner.Logs.All, static log => log.EventName == "HeadBodyWritten");
    }

    [Theory]
    [InlineData(true, 5, true)]
    [InlineData(true, 0, false)]
    [InlineData(false, 5, false)]
    public async Task Finish_OfHead_WhatWasWrittenIsLogged(bool isHead, int length, bool isLogged)
    {
        _rig.Begin(isHead: isHead);
        if (length > 0)
            await _rig.WriteAsync(length);

        Response.Finish();

        Assert.Equal(isLogged ? 1 : 0, _rig.Owner.Logs.All.Count(static log => log.EventName == "HeadBodyWritten"));
    }

    [Theory]
    [InlineData(false, 200, "", 0L)]
    [InlineData(false, 205, "", 0L)]
    [InlineData(false, 204, "", null)]
    [InlineData(true, 200, "", null)]
    [InlineData(false, 200, "abc", null)]
    public void Finish_NothingWritten_LengthIsZeroInTheHeadersToo(bool isHead, int status, string text, long? length)
    {
        foreach (var isReplaced in new[] { false, true })
        {
            _rig.Begin(isHead: isHead);
            Response.StatusCode = status;
            var headers = isReplaced ? new HeaderDictionary() : Response.Headers;
            Response.Headers = headers;
            if (text.Length > 0)
                _rig.Put(text);

            Response.Finish();

            Assert.Equal(length, headers.ContentLength);
            Assert.Equal(text, _rig.Body);
            Assert.Equal(length == 0, _rig.Stdout.Contains("Content-Length: 0\r\n", StringComparison.Ordinal));
            _rig.Close();
        }
    }

    [Fact]
    public async Task Finish_ReplacedHeadersOfAResponseThatHasStarted_AreLeftAlone()
    {
        _rig.Begin();
        var headers = new HeaderDictionary { ["X"] = "1" };
        Response.Headers = headers;
        await Response.StartAsync();

        Response.Finish();

        Assert.Null(headers.ContentLength);
        Assert.StartsWith("X: 1\r\n", _rig.Stdout, StringComparison.Ordinal);
        _rig.Close();

        _rig.Begin(isHead: true);
        Response.Headers = headers = new HeaderDictionary { ContentLength = 9 };
        Response.Finish();
        Assert.Equal(9, headers.ContentLength);
        Assert.Equal("Content-Length: 9\r\nStatus: 200 OK\r\n\r\n", _rig.Stdout);
    }

    [Fact]
    public async Task Complete_ReplacedHeaders_AreSent()
    {
        _rig.Begin();
        Response.Headers = new HeaderDictionary { ["X"] = "1" };

        await Response.CompleteAsync();

        Assert.StartsWith("X: 1\r\n", _rig.Stdout, StringComparison.Ordinal);
    }

    /// <summary>What has failed is answered 500, whatever else is wrong with it: its headers are not asked, and nobody counts its bytes.</summary>
    [Fact]
    public async Task Complete_BehindACallbackThatThrows_IsA500AndNoOtherCallbackIsCalled()
    {
        _rig.Begin();
        var headers = new HeaderDictionary { ["X Y"] = "no name", ContentLength = 10 };
        Response.Headers = headers;
        Response.OnStarting(static _ => throw new InvalidOperationException("is not called"), this);
        Response.OnStarting(static _ => throw new FormatException("on purpose"), this);

        await Response.CompleteAsync();

        Assert.Equal(["error on purpose"], _rig.Owner.Told);
        Assert.False(Response.HasOnStarting);
        Assert.Equal("Content-Length: 0\r\nStatus: 500 Internal Server Error\r\n\r\n", _rig.Stdout);
    }

    [Fact]
    public async Task ReasonPhrase_SetAndTakenBack_IsSentAsItIsLast()
    {
        foreach (var (first, last, sent) in new[] { ("Fine", null, "OK"), (null, "Fine", "Fine"), (null, null, "OK"), ("Fine", "Very fine", "Very fine") })
        {
            _rig.Begin();
            Response.ReasonPhrase = first;
            Assert.Equal(first, Response.ReasonPhrase);
            Response.ReasonPhrase = last;
            Assert.Equal(last, Response.ReasonPhrase);

            await Response.CompleteAsync();

            Assert.EndsWith($"Status: 200 {sent}\r\n\r\n", _rig.Stdout, StringComparison.Ordinal);
            _rig.Close();
        }

        _rig.Begin();
        Assert.Contains("0x000A", Assert.Throws<InvalidOperationException>(() => Response.ReasonPhrase = "a\nb").Message, StringComparison.Ordinal);
        Assert.Null(Response.ReasonPhrase);
    }

    [Fact]
    public async Task Drop_WhatIsWrittenThen_IsTakenAndNotKept()
    {
        _rig.Begin();
        var writer = Response.Writer;
        var generation = Response.Output.Generation;
        _rig.Put("before");
        _rig.Drop();

        writer.GetSpan(100);
        writer.Advance(100);
        var write = await _rig.WriteAsync("after");
        Assert.Equal((true, false), (write.IsCompleted, write.IsCanceled));
        _rig.Close();

        Assert.Equal((0, 0), (_rig.Transport.SendCount, _rig.RentedCount));
        Assert.NotEqual(generation, Response.Output.Generation);
        _rig.Begin();
        Assert.Equal(0, Response.Writer.UnflushedBytes);
        await Assert.ThrowsAsync<ObjectDisposedException>(() => writer.WriteAsync(new byte[1]).AsTask());
    }
}
