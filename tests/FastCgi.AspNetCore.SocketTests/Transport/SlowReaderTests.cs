namespace FastCgi.AspNetCore.SocketTests.Transport;

public sealed class SlowReaderTests
{
    /// <summary>
    /// A twentieth of a second passes with each read, so the peer never pauses; but the system wants more only when a
    /// third (TCP) or three quarters (Unix) of its buffer are free. Kestrel's sockets notice it
    /// too late for a clock that runs ahead.
    /// </summary>
    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Response_ReadSlowlyAndSteadily_IsWhole(TransportSetup setup)
    {
        const int Length = 6_000_000;
        var clock = new FakeClock();
        await using var server = await TransportServer.StartAsync(
            setup,
            static app => app.MapGet(
                "/", static (HttpContext context) => context.Response.Body.WriteAsync(new byte[Length]).AsTask()),
            static options => options.Limits.SendTimeout = TimeSpan.FromSeconds(3),
            builder => builder.Services.AddSingleton(new ServerTime(clock)));
        using var socket = new Socket(server.EndPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        // Otherwise, the peer's system may report that it took 300 KB at once.
        socket.ReceiveBufferSize = 16 * 1024;
        await socket.ConnectAsync(server.EndPoint);
        await socket.SendAsync(RecordBytes.Get(keepConnection: false), SocketFlags.None);

        var buffer = new byte[2_000];
        var taken = 0;
        // The system may free what was read some milliseconds later, so a second of the clock must not be shorter.
        using var second = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        for (int length, reads = 1; (length = await socket.ReceiveAsync(buffer, SocketFlags.None)) > 0; reads++)
        {
            taken += length;
            clock.Advance(TimeSpan.FromSeconds(0.05));
            if (reads % 20 == 0)
                await second.WaitForNextTickAsync();
        }

        Assert.InRange(taken, Length, Length + 10_000);
        Assert.Empty(server.Logs.Named("ResponsesNotTaken"));
    }

    /// <summary>The peer reads too little for the system to report it.</summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Response_AByteIsAcceptedOccasionally_RequestsAreAborted(TransportSetup setup)
    {
        var aborted = new CountdownEvent(2);
        await using var server = await TransportServer.StartAsync(
            setup,
            app =>
            {
                app.MapGet("/", async (HttpContext context) =>
                {
                    context.RequestAborted.Register(() => aborted.Signal());
                    await context.Response.Body.WriteAsync(new byte[50_000_000]);
                });
                app.MapGet("/paused", async (HttpContext context) =>
                {
                    var end = Waiting.Signal();
                    context.RequestAborted.Register(() => aborted.Signal());
                    context.RequestAborted.Register(end.SetResult);
                    await context.Response.Body.FlushAsync();
                    await end.Task;
                });
            },
            static options => options.Limits.SendTimeout = TimeSpan.FromSeconds(1));
        using var socket = new Socket(server.EndPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(server.EndPoint);
        await socket.SendAsync(RecordBytes.Get(1), SocketFlags.None);
        await socket.SendAsync(RecordBytes.Get(2, "/paused"), SocketFlags.None);

        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(50));
        for (var i = 0; !aborted.IsSet; i++)
        {
            Assert.True(i < Waiting.Patience.TotalSeconds * 20, "The requests are not aborted.");
            await timer.WaitForNextTickAsync();
            if (!aborted.IsSet && socket.Available > 0)
                await socket.ReceiveAsync(new byte[1], SocketFlags.None);
        }

        // The requests do not wait for the log.
        await Waiting.UntilAsync(() => server.Logs.Named("ResponsesNotTaken").Any(), "the warning");
        Assert.Equal(LogLevel.Warning, Assert.Single(server.Logs.Named("ResponsesNotTaken")).Level);
    }
}
