namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// More requests than MaxConcurrentRequests: which ones wait, for how long, which are refused, and which need no slot.
/// </summary>
public class OverloadTests
{
    private readonly ConcurrentQueue<string> _begun = [];
    private readonly TaskCompletionSource _go = Waiting.Signal();

    /// <summary>
    /// Web servers send requests, of which "begin" and "params" are the two halves of /slow, and seconds pass. Then the
    /// slot is free: which requests the application gets, and which get a 503.
    /// </summary>
    [Theory]
    [InlineData(10, 2, "/1 /2 9", "/1 /2", "")]
    [InlineData(10, 2, "/1 /2 10", "/1", "/2")]
    [InlineData(10, 2, "/1 /2 11", "/1", "/2")]
    [InlineData(null, 2, "/1 /2 3600", "/1 /2", "")]
    // Even between two clock readings.
    [InlineData(10, 2, "/1 0.5 /late 0.5 /in-time 9.75", "/1 /in-time", "/late")]
    // A new request takes the place of one that has waited too long.
    [InlineData(10, 1, "/1 0.5 /late 9.999 /new", "/1 /late", "/new")]
    [InlineData(10, 1, "/1 0.5 /late 10 /new", "/1 /new", "/late")]
    // This is the time in the queue; the time for the params has its own limit.
    [InlineData(10, 2, "/1 begin 20 params 9", "/1 /slow", "")]
    [InlineData(10, 2, "/1 begin 20 params 10", "/1", "/slow")]
    public async Task RequestQueueTimeout_OfRequestsThatWait_Decides(
        int? timeout, int queue, string steps, string begun, string refused)
    {
        await using var server = await StartAsync(
            queue,
            limits => limits.RequestQueueTimeout = timeout is { } seconds ? TimeSpan.FromSeconds(seconds) : null);
        var sent = new Dictionary<string, FrontEnd>();
        foreach (var step in steps.Split(' '))
            Act(server, sent, step);

        _go.SetResult();

        foreach (var (path, frontEnd) in sent)
            Assert.Equal(path == refused ? 503 : 200, (await frontEnd.ReadResponseAsync()).Status);
        Assert.Equal(begun.Split(' '), _begun);
    }

    [Fact]
    public async Task RequestQueueTimeout_Over_503NamesTheSettingAndOthersContinue()
    {
        await using var server = await StartAsync(
            queue: 2, static limits => limits.RequestQueueTimeout = TimeSpan.FromSeconds(10));
        var (first, second) = (server.Send("/1"), server.Send("/2"));

        server.Clock.Advance(TimeSpan.FromSeconds(10));

        var refused = await second.ReadResponseAsync();
        Assert.Equal((503, 2, "1"), (refused.Status, refused.ProtocolStatus, refused["Retry-After"]));
        Assert.Contains("RequestQueueTimeout", refused.Text);
        Assert.Equal(0, server.Context.Admission.QueuedCount);
        Assert.Equal(LogLevel.Warning, (await server.Logs.SingleAsync("RequestsWaitedTooLong")).Level);
        Assert.Equal(1, server.Context.Counters.RejectedRequests.Single(static count
            => count.Key == RequestRejection.RequestQueueTimeout).Value);
        _go.SetResult();
        Assert.Equal("Hello", (await first.ReadResponseAsync()).Text);
        Assert.Equal("Hello", (await second.AskAsync(RecordBytes.Get(uri: "/3"))).Text);
        Assert.Equal(["/1", "/3"], _begun);
    }

    /// <summary>The next handler may block its thread without delaying the answer before it.</summary>
    [Fact]
    public async Task Queue_NextHandlerBlocks_ResponseBeforeItIsSent()
    {
        using var release = new ManualResetEventSlim();
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                if (context.Request.Path == "/1")
                    await _go.Task;
                else
                    release.Wait(Waiting.Patience);
                await Apps.Hello(context);
            },
            static options => (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 1));
        var (first, second) = (server.Send("/1"), server.Send("/2"));

        _go.SetResult();
        Assert.Equal("Hello", (await first.ReadResponseAsync()).Text);
        release.Set();

        Assert.Equal("Hello", (await second.ReadResponseAsync()).Text);
    }

    /// <summary>Otherwise requests whose clients have gone would keep the queue full.</summary>
    [Theory, Values("closed", "aborted", "stopped")]
    public async Task Queue_ClientOfAWaitingRequestDisconnects_SlotIsFreeAtOnce(string how)
    {
        await using var server = await StartAsync(queue: 1);
        server.Send("/1");
        for (var i = 0; i < 200; i++)
        {
            var gone = server.Send("/gone");
            Assert.Equal(1, server.Context.Admission.QueuedCount);
            if (how == "closed")
                gone.Close();
            else if (how == "aborted")
                gone.Send(RecordBytes.Abort());
            else
                gone.Transport.Connection.Abort();
            Assert.Equal(0, server.Context.Admission.QueuedCount);
        }

        var last = server.Send("/last");
        _go.SetResult();

        Assert.Equal("Hello", (await last.ReadResponseAsync()).Text);
        Assert.Equal(["/1", "/last"], _begun);
        Assert.Equal(200, server.Context.Counters.AbortedRequests.Sum(static count => count.Value));
        Assert.Empty(server.Context.Counters.RejectedRequests);
    }

    [Theory]
    [InlineData("/status", true)]
    [InlineData("/status/all", true)]
    [InlineData("/STATUS", true)]
    [InlineData("/status?now", true)]
    [InlineData("/other/status", true)]
    [InlineData("/statuses", false)]
    [InlineData("/other", false)]
    [InlineData("/a/status", false)]
    [InlineData("/status/../a", false)]
    [InlineData("/app/status", true)]
    public async Task Status_AtTheLimit_IsTaken(string uri, bool isTaken)
    {
        await using var server = await StartAsync(queue: 0, configure: null, ["/status", "/other/status"]);
        server.Send("/1");
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Get(uri: uri, more: ("PATH_BASE", "/app")));
        _go.SetResult();

        Assert.Equal(isTaken ? 200 : 503, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task Status_NineAtTheLimit_OneIsRefused()
    {
        await using var server = await StartAsync(queue: 0, configure: null, "/status");
        server.Send("/1");

        var statuses = Enumerable.Range(0, 9).Select(_ => server.Send("/status")).ToList();
        _go.SetResult();

        var answers = new List<int>();
        foreach (var status in statuses)
            answers.Add((await status.ReadResponseAsync()).Status);
        Assert.Equal([.. Enumerable.Repeat(200, 8), 503], answers);
    }

    /// <summary>A slot of the status is not for others.</summary>
    [Fact]
    public async Task Status_Ends_TheQueueStillWaits()
    {
        var ends = new ConcurrentDictionary<string, TaskCompletionSource>();
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                var end = ends[context.Request.Path!] = Waiting.Signal();
                await end.Task.WaitAsync(context.RequestAborted);
            },
            static options => (options.Limits.MaxConcurrentRequests, options.Limits.RequestQueueLimit) = (1, 1),
            statusPaths: ["/status"]);
        var frontEnds = new[] { "/1", "/2", "/status" }.Select(path => server.Send(path)).ToList();
        Assert.Equal(["/1", "/status"], ends.Keys.Order());

        ends["/status"].SetResult();
        await frontEnds[2].ReadResponseAsync();
        Assert.Equal((1, 0), server.Context.Admission.TakenCount);
        Assert.False(ends.ContainsKey("/2"));
        ends["/1"].SetResult();
        await Waiting.UntilAsync(() => ends.ContainsKey("/2"), "the one that waited");
        ends["/2"].SetResult();
        foreach (var frontEnd in frontEnds[..2])
            Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
    }

    private async Task<TestServer> StartAsync(
        int queue, Action<FastCgiServerLimits>? configure =
            null, params string[] statusPaths) => await TestServer.StartAsync(
        async context =>
        {
            _begun.Enqueue(context.Request.Path!);
            await _go.Task;
            await Apps.Hello(context);
        },
        options =>
        {
            options.Limits.MaxConcurrentRequests = 1;
            options.Limits.RequestQueueLimit = queue;
            configure?.Invoke(options.Limits);
        },
        statusPaths: statusPaths);

    private static void Act(TestServer server, Dictionary<string, FrontEnd> sent, string step)
    {
        if (step[0] == '/')
            sent[step] = server.Send(step);
        else if (step == "begin")
            (sent["/slow"] = server.Connect()).Send(RecordBytes.Begin());
        else if (step == "params")
            sent["/slow"].Send(RecordBytes.ParamsStream(1, RecordBytes.RequestParams("GET", "/slow")));
        else
            server.Clock.Advance(TimeSpan.FromSeconds(double.Parse(step, CultureInfo.InvariantCulture)));
    }
}
