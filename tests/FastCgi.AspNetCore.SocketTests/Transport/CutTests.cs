namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// Whatever ends a started response, it is cut by a reset or by ABORT_REQUEST after a whole record. It never just
/// stops.
/// </summary>
public sealed class CutTests
{
    private const int Length = 20_000_000;

    public enum Reason
    {
        Exception,
        Abort,
        ShutdownTimeout,
        SendTimeout,
        ProtocolError,
    }

    public enum Peer
    {
        /// <summary>It has read everything.</summary>
        Idle,

        /// <summary>It reads nothing until the response is cut.</summary>
        Slow,

        /// <summary>It reads nothing until the server has closed the connection.</summary>
        Stalled,
    }

    public static TheoryData<TransportSetup, Reason, Peer> Cases()
    {
        var cases = new TheoryData<TransportSetup, Reason, Peer>();
        foreach (var setup in TransportSetup.List)
        {
            foreach (var reason in Enum.GetValues<Reason>())
            {
                cases.Add(setup, reason, Peer.Slow);
                if (reason != Reason.SendTimeout)
                    cases.Add(setup, reason, Peer.Idle);
                // .NET's sockets send again only when the peer has read, and an intermediate pipe can be closed but not
                // cut.
                if (setup.Engine == Engine.Epoll)
                    cases.Add(setup, reason, Peer.Stalled);
            }
        }

        return cases;
    }

    [Theory, MemberData(nameof(Cases))]
    public async Task StartedResponse_IsSeenAsCut(TransportSetup setup, Reason reason, Peer peer)
    {
        var started = Waiting.Signal();
        var act = Waiting.Signal();
        var aborted = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapGet("/", (HttpContext context) =>
            {
                context.RequestAborted.Register(() => aborted.TrySetResult());
                return RespondAsync(context, reason, peer, started, act.Task);
            }),
            options =>
            {
                options.Limits.LingerTimeout = TimeSpan.FromSeconds(peer == Peer.Stalled ? 2 : 60);
                options.Limits.SendTimeout = reason == Reason.SendTimeout ? TimeSpan.FromSeconds(1) : null;
            });
        if (reason == Reason.Exception)
            server.Logs.Expected.Add("ApplicationError");
        using var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Get());
        await started.Task.Within("the start of the response");
        if (peer == Peer.Idle)
            Assert.Equal(RecordBytes.Stdout, (await connection.ReadRecordAsync())!.Type);

        act.SetResult();
        var stop = reason == Reason.ShutdownTimeout
            ? server.StopAsync(new CancellationToken(canceled: true))
            : Task.CompletedTask;
        if (reason == Reason.ProtocolError)
            await connection.SendAsync([9, 9, 9, 9, 9, 9, 9, 9]);
        if (reason == Reason.SendTimeout)
            await aborted.Task.Within("the timeout");
        if (peer == Peer.Stalled)
            await Waiting.UntilAsync(() => server.InUse.Connections == 0, "the end of the connection");

        await AssertCutAsync(connection);
        await stop.Within("the stop");
    }

    private static async Task RespondAsync(
        HttpContext context, Reason reason, Peer peer, TaskCompletionSource started, Task act)
    {
        var write = context.Response.Body.WriteAsync(new byte[peer == Peer.Idle ? 10 : Length]).AsTask();
        started.SetResult();
        await act;
        if (reason == Reason.Exception)
            throw new InvalidOperationException("The application fails.");
        if (reason == Reason.Abort)
            context.Abort();
        await write;
        await Task.Delay(Timeout.Infinite, context.RequestAborted)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private static async Task AssertCutAsync(FastCgiClient connection)
    {
        byte last = 0;
        try
        {
            // Throws if the connection ends within a record.
            while (await connection.ReadRecordAsync() is { } record)
                last = record.Type;
        }
        catch (IOException exception) when (
            exception.InnerException is SocketException { SocketErrorCode: SocketError.ConnectionReset })
        {
            return;
        }

        Assert.Equal(RecordBytes.AbortRequest, last);
    }
}
