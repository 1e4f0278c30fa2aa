namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A connection idle for too long is closed unless bytes arrive, which may be no request.</summary>
public sealed class LeavingTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(30);

    [Fact]
    public async Task KeepAliveTimeout_SomethingComesThatIsNoRequest_IsTriedAgainAtEachTick()
    {
        await using var server = await TestServer.StartAsync(
            Apps.Hello, static options => options.Limits.KeepAliveTimeout = s_limit);
        var transport = new DecidedTransport();
        var connection = new FastCgiConnection(server.Connections, transport);
        transport.Connection = connection;
        Assert.True(server.Connections.TryAdd(connection));
        // Just before a tick, so the connection must stay open at the tick that is less than the limit later.
        server.Clock.Advance(0.9 * s_tick);
        var ready = new ReadyRequests();
        connection.OnReceived(RecordBytes.Get(), ref ready);
        ready.RemoveFirst().Execute();
        Assert.True(transport.SendCount > 0);

        server.Clock.Advance(s_limit - (0.9 * s_tick));
        Assert.Empty(transport.Decisions);
        server.Clock.Advance(s_tick);
        Assert.Equal([CloseAction.ResetUnlessInput], transport.Decisions);
        connection.OnReceived(RecordBytes.Record(RecordBytes.GetValues, 0), ref ready);
        server.Clock.Advance(s_tick);
        Assert.Equal([CloseAction.ResetUnlessInput, CloseAction.ResetUnlessInput], transport.Decisions);

        // A late request is answered, and then the connection is closed.
        connection.OnReceived(RecordBytes.Get(), ref ready);
        ready.RemoveFirst().Execute();
        Assert.Equal(CloseAction.Close, transport.Decisions[^1]);
        Assert.Equal(3, transport.Decisions.Count);
        connection.OnClosed(new IOException("The connection is closed."));
    }

    /// <summary>Takes everything, and notes what the connection decides when it is to be closed.</summary>
    private sealed class DecidedTransport : ConnectionTransport
    {
        public FastCgiConnection Connection { get; set; } = null!;

        public List<CloseAction> Decisions { get; } = [];

        public int SendCount { get; private set; }

        public override EndPoint? RemoteEndPoint => null;

        public override bool CanReset => true;

        public override bool Send(BufferBlock chain)
        {
            SendCount++;
            return true;
        }

        public override void Close() => Decisions.Add(Connection.DecideClose());

        public override void Run(ref ReadyRequests ready) => throw new NotSupportedException();

        public override void ResumeReceiving()
        {
        }
    }
}
