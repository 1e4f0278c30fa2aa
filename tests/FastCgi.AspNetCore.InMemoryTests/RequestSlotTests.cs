namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>When the slot of a request (MaxConcurrentRequests) is free for another one.</summary>
public class RequestSlotTests
{
    /// <summary>A client that asks again as soon as it has its answer is not refused: its slot is free.</summary>
    [Fact]
    public async Task Slot_WhenTheResponseHasArrived_IsFree()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, static options => options.Limits.MaxConcurrentRequests = 1);
        var first = server.Connect();
        var second = server.Connect();
        var sends = 0;
        first.Transport.Received = () =>
        {
            // On another thread: this one is still the first request's.
            if (Interlocked.Increment(ref sends) == 1)
                Task.Run(() => second.Send(RecordBytes.Get(uri: "/2"))).Wait();
        };

        Assert.Equal("Hello", (await first.AskAsync(RecordBytes.Get(uri: "/1"))).Text);
        Assert.Equal("Hello", (await second.ReadResponseAsync()).Text);
    }

    /// <summary>The application has begun the response, and does not wait for it.</summary>
    [Theory, Values("start", "flush", "write", "throw")]
    public async Task Slot_WhileUnawaitedOnStartingRuns_IsHeld(string how)
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            context =>
            {
                context.Response.OnStarting(async () =>
                {
                    await go.Task;
                    context.Response.Headers["X-Late"] = "there";
                });
                _ = how switch
                {
                    "write" => context.Response.WriteAsync("Hello"),
                    "flush" => context.Response.Body.FlushAsync(),
                    _ => context.Response.StartAsync(),
                };
                return how == "throw" ? throw new InvalidOperationException("on purpose") : Task.CompletedTask;
            },
            static options => options.Limits.MaxConcurrentRequests = 1, expects: "ApplicationError");
        var first = server.Send();

        Assert.Equal((1, 0), server.Context.Admission.TakenCount);
        Assert.Equal(503, (await server.Send().ReadResponseAsync()).Status);
        go.SetResult();

        var response = await first.ReadResponseAsync();
        Assert.Equal(how == "throw" ? (500, null) : (200, "there"), (response.Status, response["X-Late"]));
        await Waiting.UntilAsync(() => server.Context.Admission.TakenCount == (0, 0), "the place to be free");
    }

    /// <summary>A web server that does not accept the response delays the request but does not hold the slot.</summary>
    [Theory]
    [InlineData(false, 5)]
    [InlineData(true, 5)]
    [InlineData(false, 1_000_000)]
    [InlineData(true, 1_000_000)]
    public async Task Slot_WhileTheResponseIsNotAccepted_IsFree(bool isCompleted, int length)
    {
        var isFirst = true;
        await using var server = await TestServer.StartAsync(
            Apps.Do(context =>
            {
                // Not flushed: a write beyond the limit would wait.
                context.Response.BodyWriter.Write(new byte[isFirst ? length : 5]);
                isFirst = false;
                if (isCompleted)
                    _ = context.Response.CompleteAsync();
            }),
            static options => options.Limits.MaxConcurrentRequests = 1);
        var first = server.Connect();
        first.Transport.HoldSends();
        first.Send(RecordBytes.Get());

        Assert.Equal((0, 0), server.Context.Admission.TakenCount);
        Assert.Equal(5, (await server.Send().ReadResponseAsync()).Body.Length);
        first.Transport.ReleaseSend(continues: false);
        Assert.Equal(length, (await first.ReadResponseAsync()).Body.Length);
    }

    /// <summary>Headers that cannot be decoded are detected when the request has its slot.</summary>
    [Fact]
    public async Task Slot_OfARequestThatIsRejectedLate_IsFreeWhenTheResponseHasArrived()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, static options =>
        {
            options.Limits.MaxConcurrentRequests = 1;
            options.RequestHeaderEncodingSelector = static _ => new System.Text.UTF8Encoding(
                false, throwOnInvalidBytes: true);
        });
        var taken = new List<(long, int)>();
        frontEnd.Transport.Received = () => taken.Add(frontEnd.Server.Context.Admission.TakenCount);

        frontEnd.Send(
            RecordBytes.Begin(),
            RecordBytes.Record(RecordBytes.Params, 1, [.. RecordBytes.Pairs(
                RecordBytes.RequestParams()), .. RecordBytes.Pair("HTTP_X_BAD"u8.ToArray(), [0xFF])]),
            RecordBytes.Record(RecordBytes.Params, 1));

        Assert.Equal(400, (await frontEnd.ReadResponseAsync()).Status);
        Assert.All(taken, static count => Assert.Equal((0, 0), count));
    }
}
