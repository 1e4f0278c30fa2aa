using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>How connections of the Socket engine end, as their peer sees it.</summary>
public sealed class SocketConnectionTests : IAsyncLifetime, IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly Socket _peer = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private TestServer _server = null!;
    private SocketConnection _connection = null!;

    public async Task InitializeAsync()
    {
        _server = await TestServer.StartAsync(Apps.Hello);
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        await _peer.ConnectAsync(_listener.LocalEndPoint!);
        _connection = new SocketConnection(await _listener.AcceptAsync(), _server.Connections, _server.Scheduler);
        Assert.True(_server.Connections.TryAdd(_connection.Connection));
        Assert.Null(_connection.Start());
    }

    public async Task DisposeAsync()
    {
        _connection.Connection.Reset();
        await _server.DisposeAsync();
    }

    public void Dispose()
    {
        _listener.Dispose();
        _peer.Dispose();
    }

    [Fact]
    public async Task Peer_SendsNothingMore_ConnectionIsClosed()
    {
        _peer.Shutdown(SocketShutdown.Send);

        Assert.Equal(0, await _peer.ReceiveAsync(new byte[1]).Within("the end"));
        await Waiting.UntilAsync(() => _server.Connections.Count == 0, "the end of the connection");
        Assert.Null(_connection.RemoteEndPoint);
    }

    [Fact]
    public async Task Reset_PeerSeesAnError()
    {
        Assert.True(_connection.CanReset);
        Assert.Equal(_peer.LocalEndPoint, _connection.RemoteEndPoint);

        _connection.Connection.Reset();
        _connection.Connection.Reset();

        await AssertResetAsync();
    }

    /// <summary>.NET refuses, in whatever way: the bytes are lost, and what follows would be taken for them.</summary>
    [Fact]
    public async Task Send_IsRefused_ConnectionIsReset()
    {
        var chain = CreateChain(BufferPool.LargeBlockSize, count: 200);
        Assert.False(_connection.Send(chain));

        // There is one send at a time.
        Assert.True(_connection.Send(chain));

        await Waiting.UntilAsync(() => _server.Connections.Count == 0, "the end of the connection");
        await Assert.ThrowsAsync<SocketException>(async () =>
        {
            while (await _peer.ReceiveAsync(new byte[65_536]).Within("the end") > 0)
            {
            }
        });
        BufferBlock.ReturnChain(chain);
    }

    [Fact]
    public async Task Answer_WithoutKeepConnection_IsFollowedByACleanEnd()
    {
        await _peer.SendAsync(RecordBytes.Get(keepConnection: false));

        var received = 0;
        while (await _peer.ReceiveAsync(new byte[1_024]).Within("the answer") is > 0 and var length)
            received += length;

        Assert.True(received > 0);
        await Waiting.UntilAsync(() => _server.Connections.Count == 0, "the end of the connection");
    }

    private async Task AssertResetAsync()
    {
        var error = await Assert.ThrowsAsync<SocketException>(() => _peer.ReceiveAsync(new byte[1]).Within("the reset"));
        Assert.Equal(SocketError.ConnectionReset, error.SocketErrorCode);
        await Waiting.UntilAsync(() => _server.Connections.Count == 0, "the end of the connection");
    }

    private BufferBlock CreateChain(int length, int count)
    {
        var chain = new BufferChain();
        for (var i = 0; i < count; i++)
        {
            var block = _server.Context.Buffers.RentBlock(length);
            block.Append(new byte[block.FreeLength]);
            chain.Append(block);
        }

        return chain.Head!;
    }
}
