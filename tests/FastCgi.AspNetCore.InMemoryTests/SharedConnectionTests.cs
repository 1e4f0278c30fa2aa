namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// A request that fails after its start, alongside others on its connection: the others keep their responses, complete
/// or not, and it ends with END_REQUEST and appStatus 1.
/// </summary>
public sealed class SharedConnectionTests
{
    private readonly TaskCompletionSource _started = Waiting.Signal();
    private readonly TaskCompletionSource _fail = Waiting.Signal();
    private readonly TaskCompletionSource _go = Waiting.Signal();

    [Theory]
    [Contract("T12")]
    [InlineData("abort", "running", true)]
    [InlineData("throw", "queued", true)]
    [InlineData("too few", "being sent", true)]
    [InlineData("too many", "not delivered", true)]
    // Without a reset, the system keeps what it holds.
    [InlineData("throw", "running", false)]
    [InlineData("too few", "queued", false)]
    [InlineData("abort", "being sent", false)]
    public async Task Fault_AfterTheStart_LeavesTheOtherAnswerWhole(string fault, string other, bool canReset)
    {
        await using var frontEnd = await StartAsync(fault, isHeld: other == "running");
        frontEnd.Transport.HasReset = canReset;
        frontEnd.Send(RecordBytes.Get(1, "/faulty"));
        await _started.Task.Within("the start");
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.Sent.Length > 0, "what was flushed");

        if (other is "queued" or "being sent")
            frontEnd.Transport.HoldSends();
        // A record that blocks the send, so that the answer waits.
        if (other == "queued")
            frontEnd.Send(RecordBytes.Record(99, 0));
        frontEnd.Send(RecordBytes.Get(2, "/other"));
        if (other == "not delivered")
            frontEnd.Transport.Undelivered = 10;
        _fail.SetResult();
        await Waiting.UntilAsync(
            () => TestServer.CountUnfinished(frontEnd.Transport.Connection) == 0
            && frontEnd.Transport.Connection.GetTotals().Active <= 1,
            "the fault");
        _go.SetResult();
        await Waiting.UntilAsync(() => frontEnd.Transport.Connection.GetTotals().Active == 0, "the other request");
        frontEnd.Transport.ReleaseSend(continues: false);
        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.CountEnds().Count == 2, "both ends");

        Assert.False(frontEnd.Transport.IsReset);
        var records = frontEnd.ReadAvailable();
        var answer = records.Where(static record => record is { Id: 2, Type: RecordBytes.Stdout })
            .SelectMany(static record => record.Content).ToArray();
        Assert.Equal("Hello", FrontEnd.Parse(answer, new byte[8]).Text);
        Assert.Equal([0, 0, 0, 0, 0, 0, 0, 0], End(records, 2));
        Assert.Equal([0, 0, 0, 1, 0, 0, 0, 0], End(records, 1));
        // Without the end of STDOUT, nginx takes the rest for missing.
        Assert.DoesNotContain(
            records, static record => record is { Id: 1, Type: RecordBytes.Stdout, Content.Length: 0 });
    }

    /// <summary>If it is alone and everything before it was delivered, a reset reliably signals the error.</summary>
    [Theory, Values("abort", "too few")]
    public async Task Fault_WhenTheOtherAnswerIsDelivered_ResetsTheConnection(string fault)
    {
        await using var frontEnd = await StartAsync(fault, isHeld: false);
        Assert.Equal("Hello", (await frontEnd.AskAsync(RecordBytes.Get(2, "/other"))).Text);
        frontEnd.Send(RecordBytes.Get(1, "/faulty"));

        _fail.SetResult();

        await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.IsReset, "the reset");
    }

    private Task<FrontEnd> StartAsync(string fault, bool isHeld) => TestServer.ConnectAsync(
        async context =>
        {
            if (context.Request.Path == "/other")
            {
                if (isHeld)
                    await _go.Task;
                await Apps.Hello(context);
                return;
            }

            context.Response.ContentLength = fault is "too few" or "too many" ? 10 : null;
            await context.Response.WriteAsync("begin");
            await context.Response.Body.FlushAsync();
            _started.SetResult();
            await _fail.Task;
            await FailAsync(context, fault);
        },
        expects: "ApplicationError");

    private static async Task FailAsync(HttpContext context, string fault)
    {
        switch (fault)
        {
            case "abort":
                context.Abort();
                break;
            case "throw":
                throw new InvalidOperationException("on purpose");
            case "too many":
                await context.Response.WriteAsync("5678901234");
                break;
        }
    }

    private static byte[] End(List<WireRecord> records, int id)
        => records.Single(record => record.Id == id && record.Type == RecordBytes.EndRequest).Content;
}
