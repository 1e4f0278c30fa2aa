namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A thread of an ended request finishes its work without reaching another request.</summary>
public class UseBeyondTheEndTests
{
    // Enough requests to reuse each buffer of the first one.
    private const int Enough = 40;

    /// <summary>A pending read that the application does not await.</summary>
    [Fact]
    [Contract("E4b", "T28")]
    public async Task RequestBody_ReadThatWaitsAtTheEnd_FailsAndTheNextBodyIsWhole()
    {
        Task? read = null;
        await using var server = await TestServer.StartAsync(context =>
        {
            if (context.Request.Path != "/first")
                return Apps.BodyHash(context);

            read = context.Request.Body.ReadAsync(new byte[10]).AsTask();
            return Apps.Hello(context);
        });
        var body = Apps.Pattern(20_000);
        for (var i = 0; i < 40; i++)
        {
            var first = server.Connect();
            await first.AskAsync(RecordBytes.Post(1, "/first", body)[..^(body.Length + 16)]);
            await Assert.ThrowsAsync<ObjectDisposedException>(() => read!.Within("the read"));

            var next = server.Connect();
            Assert.Equal(Apps.HashOf(body), (await next.AskAsync(RecordBytes.Post(1, "/next", body))).Text);
        }
    }

    /// <summary>An unawaited copy of the body: bytes that its destination has not taken stay unchanged.</summary>
    [Theory, Values("stream", "reader to stream", "reader to writer")]
    public async Task Body_CopiedBeyondTheEnd_IsNotThatOfAnotherRequest(string how)
    {
        var destination = new SlowStream();
        Task? copy = null;
        var go = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(Application);
        frontEnd.Send(RecordBytes.PostHead(3, uri: "/first"), RecordBytes.StdinStream(1, "own"u8));
        await frontEnd.ReadResponseAsync();

        // All at once, so that they reuse each buffer of the first one.
        var others = Enumerable.Range(0, Enough).Select(_ => frontEnd.Server.Connect()).ToList();
        others.ForEach(static other => other.Send(RecordBytes.Post(1, "/next", "secret"u8.ToArray())));
        destination.GoOn.SetResult();
        await Record.ExceptionAsync(() => copy!.Within("the copy"));
        go.SetResult();
        foreach (var other in others)
            Assert.Equal(Apps.HashOf("secret"u8.ToArray()), (await other.ReadResponseAsync()).Text);

        Assert.Equal("own"u8, destination.ToArray());

        async Task Application(HttpContext context)
        {
            if (context.Request.Path != "/first")
            {
                await go.Task;
                await Apps.BodyHash(context);
                return;
            }

            copy = how switch
            {
                "stream" => context.Request.Body.CopyToAsync(destination),
                "reader to stream" => context.Request.BodyReader.CopyToAsync(destination),
                _ => context.Request.BodyReader.CopyToAsync(PipeWriter.Create(destination)),
            };
            await destination.HasBytes.Task;
        }
    }

    /// <summary>Each use fails because the request is over, even if its token is cancelled.</summary>
    [Theory, Values(false, true)]
    [Contract("D8", "T28")]
    public Task Bodies_UsedAfterTheEnd_AsKestrel(bool isCanceled) => Parity.AssertAsync((context, seen) =>
    {
        var token = new CancellationToken(isCanceled);
        var bytes = new byte[1];
        var (reader, received) = (context.Request.BodyReader, context.Request.Body);
        var (writer, sent) = (context.Response.BodyWriter, context.Response.Body);
        context.Response.OnCompleted(async () =>
        {
            await seen.TryAsync("read", () => reader.ReadAsync(token).AsTask());
            await seen.TryAsync("read at least", () => reader.ReadAtLeastAsync(1, token).AsTask());
            await seen.TryAsync("read stream", () => received.ReadAsync(bytes, token).AsTask());
            seen.Try("advance reader", () => reader.AdvanceTo(default));
            seen.Try("cancel read", reader.CancelPendingRead);
            seen.Try("complete reader", () => reader.Complete());
            await seen.TryAsync("write", () => writer.WriteAsync(bytes, token).AsTask());
            await seen.TryAsync("flush", () => writer.FlushAsync(token).AsTask());
            await seen.TryAsync("write stream", () => sent.WriteAsync(bytes, token).AsTask());
            await seen.TryAsync("flush stream", () => sent.FlushAsync(token));
            seen.Try("lease", () => writer.GetMemory());
            seen.Try("advance writer", () => writer.Advance(0));
            seen.Try("cancel flush", writer.CancelPendingFlush);
            seen.Try("complete writer", () => writer.Complete());
            seen.Note("unflushed", writer.UnflushedBytes);
        });
        return context.Response.WriteAsync("Hello");
    }, new TestRequest("POST") { Body = "0123456789"u8.ToArray() });

    [Theory, Values(404, 302)]
    public async Task RequestLine_SetToNothing_IsAnswered(int status)
    {
        var response = await TestServer.AskAsync(
            Apps.Do(context =>
            {
                var request = context.Features.GetRequiredFeature<IHttpRequestFeature>();
                (request.PathBase, request.Path, request.Method, request.QueryString,
                    request.Protocol, request.Scheme) = (null!, null!, null!, null!, null!, null!);
                context.Response.StatusCode = status;
            }),
            static options => options.PathBase = "/app");

        Assert.Equal(status, response.Status);
    }

    /// <summary>Accepts writes when the test allows it.</summary>
    private sealed class SlowStream : MemoryStream
    {
        public TaskCompletionSource HasBytes { get; } = Waiting.Signal();

        public TaskCompletionSource GoOn { get; } = Waiting.Signal();

        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            HasBytes.TrySetResult();
            await GoOn.Task;
            await base.WriteAsync(buffer, CancellationToken.None);
        }
    }
}
