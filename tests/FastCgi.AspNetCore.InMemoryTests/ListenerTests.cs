namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A listener that fails is reported and affects no other.</summary>
public class ListenerTests
{
    private static readonly IPEndPoint s_endPoint = new(IPAddress.Loopback, 9000);

    [Fact]
    [Contract("G5")]
    public async Task Accept_Fails_CriticalAndTheOthersContinue()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, expects: "AcceptLoopFailed");
        var failing = new TestListener(s_endPoint) { Error = new IOException("on purpose") };
        var listener = new PipeListener(failing, s_endPoint, PeerPolicy.Everybody, server.Engine);

        listener.Start();
        await listener.StopAsync(default);

        Assert.Equal(LogLevel.Critical, (await server.Logs.SingleAsync("AcceptLoopFailed")).Level);
        var frontEnd = server.Connect();
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
    }

    [Fact]
    public async Task Accept_PeerThatMayNotConnect_IsAbortedAndReportedOnce()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var listening = new TestListener(s_endPoint);
        var policy = new PeerPolicy { Addresses = [[IPNetwork.Parse("10.0.0.0/8")]] };
        var listener = new PipeListener(listening, s_endPoint, policy, server.Engine);
        listener.Start();
        var refused = Enumerable.Range(0, 3).Select(_ => listening.Connect("192.0.2.9")).ToList();
        var allowed = listening.Connect("10.1.2.3");

        foreach (var context in refused)
            await context.IsAborted.Task.Within("the end of a connection that is refused");
        await allowed.SendAsync(RecordBytes.Get());
        await allowed.Writer.IsFlushing.Task.Within("the answer");

        Assert.Equal(1, server.Connections.Count);
        var warning = await server.Logs.SingleAsync("PeerRefused");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.Contains("192.0.2.9", warning.Message);
        allowed.FromWebServer.Writer.Complete();
        await listener.StopAsync(default);
        Assert.True(listening.IsUnbound);
        Assert.True(listening.IsDisposed);
    }

    [Fact]
    public async Task Accept_ConnectionBeyondTheLimit_IsAborted()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, static options => options.Limits.MaxConcurrentConnections = 1);
        var listening = new TestListener(s_endPoint);
        var listener = new PipeListener(listening, s_endPoint, PeerPolicy.Everybody, server.Engine);
        listener.Start();
        var first = listening.Connect("192.0.2.9");

        await listening.Connect("192.0.2.9").IsAborted.Task.Within("the end of the connection");

        Assert.False(first.IsAborted.Task.IsCompleted);
        first.FromWebServer.Writer.Complete();
        await listener.StopAsync(default);
    }

    /// <summary>A listener of another factory may fail or never end its stop; it is disposed of anyway.</summary>
    [Theory, Values(true, false)]
    public async Task Stop_UnbindFailsOrHasNoEnd_IsDisposedOf(bool fails)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var listening = new TestListener(s_endPoint)
        {
            Unbinding = fails ? Task.FromException(new IOException("on purpose")) : Waiting.Signal().Task,
        };
        var listener = new PipeListener(listening, s_endPoint, PeerPolicy.Everybody, server.Engine);
        listener.Start();

        var error = await Record.ExceptionAsync(
            () => listener.StopAsync(new CancellationToken(canceled: !fails)).Within("the end"));

        Assert.True(fails ? error is IOException : error is OperationCanceledException, error?.ToString());
        Assert.True(listening.IsDisposed);
    }
}
