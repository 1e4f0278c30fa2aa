namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Flushes after an await: the one that is probably the last waits a moment for the end of the response.
/// </summary>
public class HeldFlushTests
{
    private readonly List<FastCgiResponse> _corked = [];
    private readonly TaskCompletionSource _sent = Waiting.Signal();
    private readonly TaskCompletionSource _written = Waiting.Signal();
    private readonly TaskCompletionSource _finish = Waiting.Signal();

    [Theory, Values(true, false)]
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
    public async Task Exception_AfterAFlushThatWasSent_DropsWhatIsNotFlushed()
    {
        await using var server = await TestServer.StartAsync(async context =>
        {
            await context.Response.WriteAsync("hello");
            await _sent.Task;
            context.Response.BodyWriter.Write("not flushed"u8);
            throw new InvalidOperationException("on purpose");
        }, expects: "ApplicationError");

        var outcome = await Request(server).ReadOutcomeAsync();

        Assert.True(outcome.IsCut);
        Assert.Equal("hello"u8, outcome.Body);
    }

    [Fact]
    public async Task Exception_AfterAHeldFlushInABatch_FlushIsSentAndTheOtherResponseIsComplete()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static async context =>
        {
            await context.Response.WriteAsync("hello");
            throw new InvalidOperationException("on purpose");
        }, expects: "ApplicationError");

        frontEnd.Send(RecordBytes.Get(1), RecordBytes.Get(2), RecordBytes.Abort(2));

        Assert.False(frontEnd.Transport.IsReset);
        var records = frontEnd.ReadAvailable();
        Assert.Single(records, static record => record is { Id: 2, Type: RecordBytes.EndRequest });
        Assert.Equal(
            [RecordBytes.Stdout, RecordBytes.EndRequest],
            records.Where(static record => record.Id == 1).Select(static record => record.Type));
        Assert.EndsWith("hello", Text(records.First(static record => record.Id == 1)));
        Assert.Equal(1, records.Single(static record => record is { Id: 1, Type: RecordBytes.EndRequest }).Content[3]);
    }

    [Fact]
    public async Task STDERR_InABatch_DoesNotSendTheResponsesThatWait()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static context =>
        {
            context.Features.Get<IFastCgiRequestFeature>()!.StandardError.WriteLine("line");
            return Apps.Hello(context);
        });

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
        _corked.ForEach(static response => response.Uncork());
        _finish.SetResult();

        Assert.Empty(frontEnd.Transport.Sent);
    }

    private static Task WriteHelloAsync(HttpResponse response, bool hasLength)
    {
        response.ContentLength = hasLength ? 5 : null;
        return response.WriteAsync("hello");
    }

    private static string Text(WireRecord record) => System.Text.Encoding.UTF8.GetString(record.Content);

    /// <summary>Starts an application that responds on a pool thread and then waits for the test.</summary>
    private Task<TestServer> StartAsync(Func<HttpResponse, Task> respond) => TestServer.StartAsync(async context =>
    {
        await _sent.Task;
        await respond(context.Response);
        _written.TrySetResult();
        await _finish.Task;
    });

    private FrontEnd Request(TestServer server)
    {
        server.Deadlines = response =>
        {
            _corked.Add(response);
            return true;
        };
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());
        // The thread that called the application sends what was flushed until then.
        _sent.SetResult();
        return frontEnd;
    }
}
