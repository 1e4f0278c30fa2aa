namespace FastCgi.AspNetCore.InMemoryTests;

public class MultiplexingTests
{
    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Fact]
    public async Task Requests_EndInAnyOrder_EachItsOwnAnswer()
    {
        var gates = Enumerable.Range(0, 10).Select(static _ => Waiting.Signal()).ToArray();
        await using var frontEnd = await TestServer.ConnectAsync(async context =>
        {
            await gates[int.Parse(context.Request.Path.Value![1..])].Task;
            await Apps.Target(context);
        });
        for (var i = 0; i < gates.Length; i++)
            frontEnd.Send(RecordBytes.Get(100 + i, $"/{i}"));

        foreach (var i in new[] { 3, 9, 0, 1, 8, 2, 7, 4, 6, 5 })
        {
            gates[i].SetResult();
            Assert.Equal($"GET /{i}", (await frontEnd.ReadResponseAsync(100 + i)).Text);
        }
    }

    [Fact]
    public async Task Requests_BeyondTheLimit_503AndOverloaded()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.HelloAfter(_go.Task),
            static options => options.Limits.MaxRequestsPerConnection = 3);
        for (var id = 1; id <= 3; id++)
            frontEnd.Send(RecordBytes.Get(id));

        var refused = await frontEnd.AskAsync(RecordBytes.Get(4));
        Assert.Equal(503, refused.Status);
        Assert.NotNull(refused["Retry-After"]);
        Assert.Contains("MaxRequestsPerConnection", refused.Text);
        Assert.Equal(2, refused.ProtocolStatus);
        Assert.Empty(frontEnd.Server.Logs.Named("RequestsRefused"));
        _go.SetResult();

        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.CountEnds().Count == 4, "all ends");
        frontEnd.ReadAvailable();
        Assert.Equal("Hello", (await frontEnd.AskAsync(RecordBytes.Get(4))).Text);
    }

    [Fact]
    public Task Requests_MultiplexingOff_EachFurtherOneIsRefusedAndTheFirstUnharmed() => Script.PlayAsync(
        "get/slow get:2 2:503=1 begin:2+begin:3 3:end=1 go 200",
        static limits => limits.MaxRequestsPerConnection = 1);

    [Fact]
    public async Task Responses_OfManyRequests_TakeTurns()
    {
        await using var frontEnd = await TestServer.ConnectAsync(static async context =>
        {
            var chunk = new byte[16 * 1024];
            for (var i = 0; i < 20; i++)
                await context.Response.Body.WriteAsync(chunk);
        });
        frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.Get(1), RecordBytes.Get(2));

        var order = new List<int>();
        while (order.Count(static id => id < 0) < 2)
        {
            frontEnd.Transport.ReleaseSend();
            var record = await frontEnd.ReadRecordAsync();
            order.Add(record.Type == RecordBytes.EndRequest ? -record.Id : record.Id);
            foreach (var more in frontEnd.ReadAvailable())
                order.Add(more.Type == RecordBytes.EndRequest ? -more.Id : more.Id);
        }

        // Neither has to wait until the other is done.
        var firstEnd = order.FindIndex(static id => id < 0);
        Assert.Contains(1, order.Take(firstEnd));
        Assert.Contains(2, order.Take(firstEnd));
    }

    [Fact]
    public async Task Requests_BegunFarBeyondTheLimit_EndedAtOnceAndNothingIsKept()
    {
        await using var frontEnd = await TestServer.ConnectAsync(
            Apps.Hello, static options => options.Limits.MaxRequestsPerConnection = 3);

        for (var id = 1; id <= 1_000; id++)
            frontEnd.Send(RecordBytes.Begin(id));

        var ended = frontEnd.ReadAvailable();
        Assert.Equal(Enumerable.Range(7, 994), ended.Select(static record => record.Id));
        Assert.All(ended, static record => Assert.Equal((RecordBytes.EndRequest, 2), (record.Type, record.Content[4])));
        frontEnd.Send(
            RecordBytes.ParamsStream(7, RecordBytes.RequestParams()),
            RecordBytes.ParamsStream(3, RecordBytes.RequestParams()));
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync(3)).Text);
    }

    [Fact]
    public Task Requests_HalfOpenForTooLong_408AndOthersContinue()
        => Script.PlayAsync("get/slow+begin:2+pairs:2 31s 2:408 go 200");

    [Fact]
    public Task Requests_IdOfAnAbortedOneThatStillRuns_ServesTheNext()
        => Script.PlayAsync("get/slow+abort end get/next 200 go get/last 200");

    /// <summary>One is sent and 101 wait; the next receive shows that this is one too many.</summary>
    [Fact]
    public Task Responses_NotTakenByThePeer_FurtherRequestsAreNotReceived() => Script.PlayAsync(
        "hold " + string.Concat(Enumerable.Range(1, 103).Select(static id => $"unpaused get:{id} "))
        + "paused release resumed skip get 200");

    [Fact]
    public async Task Answers_NotTakenByThePeer_ConnectionReset()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        frontEnd.Transport.HoldSends();
        var question = RecordBytes.Record(RecordBytes.GetValues, 0);
        // Its answer is being sent; those of the others, of eight bytes each, wait.
        frontEnd.Send(question);

        frontEnd.Send([.. Enumerable.Repeat(question, 256 * 1_024 / 8)]);
        Assert.False(frontEnd.Transport.IsReset);
        frontEnd.Send(question);

        Assert.True(frontEnd.Transport.IsReset);
    }
}
