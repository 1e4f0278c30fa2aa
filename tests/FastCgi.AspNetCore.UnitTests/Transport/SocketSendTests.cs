using FastCgi.AspNetCore.UnitTests.Linux;

namespace FastCgi.AspNetCore.UnitTests.Transport;

/// <summary>One call of the system takes 64 blocks.</summary>
public sealed class SocketSendTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly BufferPool _pool = new();
    private readonly Socket _sender;
    private readonly Socket _receiver;

    public SocketSendTests()
    {
        using var listener = TestSockets.ListenUnix();
        _sender = TestSockets.Connect(listener);
        _receiver = listener.Accept();
        _sender.Blocking = false;
    }

    public void Dispose()
    {
        _sender.Dispose();
        _receiver.Dispose();
        _folder.Dispose();
    }

    [Theory, Values(1, 2, 63, 64, 65, 128, 129)]
    public void Send_BlocksOfOneCallAndMore_AllBytesInOrder(int count)
    {
        var (chain, expected) = CreateChain(count, length: 100);
        // A send before has taken a part of the first block.
        var offset = 37;

        Assert.Null(SocketSend.Send((int)_sender.Handle, chain, ref offset, out var isLost));

        Assert.False(isLost);
        Assert.Equal(expected[37..], TestSockets.Receive(_receiver, expected.Length - 37));
        BufferBlock.ReturnChain(chain);
        Assert.Equal(0, _pool.RentedCount);
    }

    /// <summary>
    /// A call of the system for each block would take most of the time. Each call makes a message on a socket of that
    /// kind.
    /// </summary>
    [Theory]
    [InlineData(1, new[] { 100 })]
    [InlineData(3, new[] { 300 })]
    [InlineData(66, new[] { 6_400, 200 })]
    public void Send_SeveralBlocks_AreOneCall(int count, int[] messages)
    {
        using var listener = new Socket(AddressFamily.Unix, SocketType.Seqpacket, ProtocolType.Unspecified);
        listener.Bind(new UnixDomainSocketEndPoint(_folder.GetPath("messages.sock")));
        listener.Listen();
        using var sender = new Socket(AddressFamily.Unix, SocketType.Seqpacket, ProtocolType.Unspecified);
        sender.Connect(listener.LocalEndPoint!);
        using var receiver = listener.Accept();
        var (chain, _) = CreateChain(count, length: 100);
        var offset = 0;

        Assert.Null(SocketSend.Send((int)sender.Handle, chain, ref offset, out _));

        Assert.Equal(messages, messages.Select(_ => receiver.Receive(new byte[10_000])));
        BufferBlock.ReturnChain(chain);
    }

    /// <summary>The socket is full anywhere: within a block, and at the edge of one.</summary>
    [Theory, Values(64, 65, 200)]
    public void Send_MoreThanTheSocketAccepts_ContinuesWhereItWasFull(int count)
    {
        var (chain, expected) = CreateChain(count, BufferPool.SmallBlockSize);
        var received = new List<byte>();
        var calls = 0;
        var offset = 0;
        _sender.SendBufferSize = 4_096;

        for (BufferBlock? rest = chain; rest is not null; calls++)
        {
            rest = SocketSend.Send((int)_sender.Handle, rest, ref offset, out var isLost);
            Assert.False(isLost);
            while (_receiver.Available > 0)
                received.AddRange(TestSockets.Receive(_receiver, Math.Min(_receiver.Available, 1_000)));
        }

        Assert.Equal(expected, received);
        Assert.True(calls > 1);
        BufferBlock.ReturnChain(chain);
    }

    [Theory, Values(1, 65)]
    public void Send_PeerIsGone_IsLost(int count)
    {
        var (chain, _) = CreateChain(count, length: 100);
        _receiver.Dispose();
        var offset = 0;

        Assert.Null(SocketSend.Send((int)_sender.Handle, chain, ref offset, out var isLost));

        Assert.True(isLost);
        BufferBlock.ReturnChain(chain);
    }

    private (BufferBlock Chain, byte[] Bytes) CreateChain(int count, int length)
    {
        var bytes = new byte[count * length];
        new Random(count).NextBytes(bytes);
        var chain = new BufferChain();
        for (var i = 0; i < count; i++)
        {
            var block = _pool.RentBlock(length);
            block.Append(bytes.AsSpan(i * length, length));
            chain.Append(block);
        }

        return (chain.Head!, bytes);
    }
}
