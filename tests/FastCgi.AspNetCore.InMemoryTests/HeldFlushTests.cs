using System.Buffers;
using FastCgi.AspNetCore.Requests;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>Flushes of handlers that came back from await: the one that is likely the last waits a moment for the end of the response.</summary>
public class HeldFlushTests
{
    private readonly ManualDeadlines _deadlines = new();
    private readonly TaskCompletionSource _sent = Waiting.Signal();
    private readonly TaskCompletionSource _written = Waiting.Signal();
    private readonly TaskCompletionSource _finish = Waiting.Signal();

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Flush_OfTheWholeResponse_LeavesWithItsEndInOneSend(bool hasLength)
    {
        await using var server = await StartAsync(response => WriteHelloAsync(response, hasLength));
        var frontEnd = Request(server);

        await _written.Task.Within("the write");
        Assert.Equal(0, frontEnd.Transport.SendCount);
        _finish.SetResult();

        var response = await frontEnd.ReadResponseAsync();
        Assert.Equal("hello", response.Text);
        Assert.Equal("5", response["Content-Length"]);
        Assert.Equal(1, frontEnd.Transport.SendCount);
    }

    [Fact]
    public async Task Flush_OfPartsThatComeTogether_LeavesWithTheEndInOneSend()
    {
        await using var server = await StartAsync(async response =>
        {
            for (var i = 0; i < 3; i++)
                await response.WriteAsync($"part {i};");
        });
        var frontEnd = Request(server);

        await _written.Task.Within("the writes");
        _finish.SetResult();

        Assert.Equal("part 0;part 1;part 2;", (await frontEnd.ReadResponseAsync()).Text);
        Assert.Equal(1, frontEnd.Transport.SendCount);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Flush_OfAHandlerThatGoesOn_IsSentAtTheNextLook(bool hasLength)
    {
        await using var server = await StartAsync(response => WriteHelloAsync(response, hasLength));
        var frontEnd = Request(server);
        await _written.Task.Within("the write");

        Assert.Equal(1, _deadlines.UncorkAll());

        Assert.EndsWith("hello", Text(await frontEnd.ReadRecordAsync()), StringComparison.Ordinal);
        _finish.SetResult();
        Assert.Empty((await frontEnd.ReadRecordAsync()).Content);
        Assert.Equal(0, _deadlines.UncorkAll());
    }

    [Fact]
    public async Task Flush_BehindTheFirstOfAStream_IsSentAtOnce()
    {
        var next = Waiting.Signal();
        await using var server = await StartAsync(async response =>
        {
            await response.WriteAsync("first");
            _written.SetResult();
            await next.Task;
            await response.WriteAsync("second");
        });
        var frontEnd = Request(server);
        await _written.Task.Within("the first write");
        _deadlines.UncorkAll();
        Assert.EndsWith("first", Text(await frontEnd.ReadRecordAsync()), StringComparison.Ordinal);

        next.SetResult();

        Assert.Equal("second", Text(await frontEnd.ReadRecordAsync()));
        _finish.SetResult();
    }

    [Fact]
    public async Task Flush_OfLessThanTheDeclaredLength_IsSentAtOnce()
        => await AssertSentAtOnceAsync("hello", async response =>
        {
            response.ContentLength = 6;
            await response.WriteAsync("hello");
            _written.SetResult();
            await _finish.Task;
            await response.WriteAsync("!");
        });

    [Fact]
    public async Task Flush_OfAHeaderBlockAlone_IsSentAtOnce()
        => await AssertSentAtOnceAsync("\r\n\r\n", static response => response.Body.FlushAsync());

    [Fact]
    public async Task Flush_WithBufferingDisabled_IsSentAtOnce()
        => await AssertSentAtOnceAsync("hello", static response =>
        {
            response.HttpContext.Features.Get<IHttpResponseBodyFeature>()!.DisableBuffering();
            return response.WriteAsync("hello");
        });

    [Fact]
    public async Task Flush_ThatNobodyLooksAfter_IsSentAtOnce()
    {
        _deadlines.AreKept = false;
        await AssertSentAtOnceAsync("hello", static response => response.WriteAsync("hello"));
    }

    [Fact]
    public async Task Exception_BehindAHeldFlush_CutsTheResponseBehindIt()
    {
        await using var server = await StartAsync(async response =>
        {
            await response.WriteAsync("hello");
            throw new InvalidOperationException("on purpose");
        });
        server.Logs.Expected.Add("ApplicationError");
        var frontEnd = Request(server);

        var outcome = await frontEnd.ReadOutcomeAsync();

        Assert.True(outcome.IsCut);
        Assert.Equal("hello"u8, outcome.Body);
    }

    [Fact]
    public async Task Exception_BehindAFlushThatHasLeft_DropsWhatIsNotFlushed()
    {
        await using var server = await TestServer.StartAsync(async context =>
        {
            await context.Response.WriteAsync("hello");
            await _sent.Task;
            context.Response.BodyWriter.Write("not flushed"u8);
            throw new InvalidOperationException("on purpose");
        });
        server.Logs.Expected.Add("ApplicationError");

        var outcome = await Request(server).ReadOutcomeAsync();

        Assert.True(outcome.IsCut);
        Assert.Equal("hello"u8, outcome.Body);
    }

    [Fact]
    public async Task Exception_BehindAHeldFlushInABatch_FlushIsSentAndTheOtherAnswerIsWhole()
    {
        await using var server = await TestServer.StartAsync(static async context =>
        {
            await context.Response.WriteAsync("hello");
            throw new InvalidOperationException("on purpose");
        });
        server.Logs.Expected.Add("ApplicationError");
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(1), RecordBytes.Get(2), RecordBytes.Abort(2));

        Assert.False(frontEnd.Transport.IsReset);
        var records = frontEnd.ReadAvailable();
        Assert.Single(records, static record => record is { Id: 2, Type: RecordBytes.EndRequest });
        Assert.Equal([RecordBytes.Stdout, RecordBytes.EndRequest], records.Where(static record => record.Id == 1).Select(static record => record.Type));
        Assert.EndsWith("hello", Text(records.First(static record => record.Id == 1)), StringComparison.Ordinal);
        Assert.Equal(1, records.Single(static record => record is { Id: 1, Type: RecordBytes.EndRequest }).Content[3]);
    }

    [Fact]
    public async Task STDERR_InABatch_DoesNotSendTheResponsesThatWait()
    {
        await using var server = await TestServer.StartAsync(static context =>
        {
            context.Features.Get<IFastCgiRequestFeature>()!.StandardError.WriteLine("line");
            return Apps.Hello(context);
        });
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(1), RecordBytes.Get(2));

        await frontEnd.ReadRecordAsync();
        Assert.Equal(1, frontEnd.Transport.SendCount);
    }

    [Fact]
    public async Task Close_ByTheWebServerWhileAFlushIsHeld_DropsIt()
    {
        await using var server = await StartAsync(static response => response.WriteAsync("hello"));
        var frontEnd = Request(server);
        await _written.Task.Within("the write");

        frontEnd.Close();
        _deadlines.UncorkAll();
        _finish.SetResult();

        Assert.Empty(frontEnd.Transport.Sent);
    }

    private static Task WriteHelloAsync(HttpResponse response, bool hasLength)
    {
        response.ContentLength = hasLength ? 5 : null;
        return response.WriteAsync("hello");
    }

    private static string Text(WireRecord record) => System.Text.Encoding.UTF8.GetString(record.Content);

    private async Task AssertSentAtOnceAsync(string end, Func<HttpResponse, Task> respond)
    {
        await using var server = await StartAsync(respond);
        var frontEnd = Request(server);

        Assert.EndsWith(end, Text(await frontEnd.ReadRecordAsync()), StringComparison.Ordinal);

        _finish.SetResult();
        while ((await frontEnd.ReadRecordAsync()).Type != RecordBytes.EndRequest)
        {
        }
    }

    /// <summary>Starts an application that responds on a thread of the pool, and goes on until it is told to finish.</summary>
    private Task<TestServer> StartAsync(Func<HttpResponse, Task> respond) => TestServer.StartAsync(async context =>
    {
        await _sent.Task;
        await respond(context.Response);
        _written.TrySetResult();
        await _finish.Task;
    });

    private FrontEnd Request(TestServer server)
    {
        server.Deadlines = _deadlines.TryAdd;
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        // The thread that called the application sends what was flushed until then.
        _sent.SetResult();
        return frontEnd;
    }

    /// <summary>Deadlines that come when the test says so.</summary>
    private sealed class ManualDeadlines
    {
        private readonly List<ResponseOutput> _corked = [];

        public bool AreKept { get; set; } = true;

        public bool TryAdd(ResponseOutput response)
        {
            if (AreKept)
                _corked.Add(response);
            return AreKept;
        }

        public int UncorkAll()
        {
            var corked = _corked.ToList();
            _corked.Clear();
            corked.ForEach(static response => response.Uncork());
            return corked.Count;
        }
    }
}
