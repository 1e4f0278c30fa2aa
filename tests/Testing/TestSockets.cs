namespace FastCgi.AspNetCore.Testing;

/// <summary>Sockets of the machine, and what the system reports about them.</summary>
public static class TestSockets
{
    // Of fcntl, as /proc shows them.
    public const int CloseOnExec = 0x80000;
    public const int NonBlocking = 0x800;

    public static Socket ListenUnix(string? path = null, int backlog = int.MaxValue)
        => Listen(new UnixDomainSocketEndPoint(path ?? "\0fastcgi-" + Guid.NewGuid()), backlog);

    public static Socket ListenTcp(string address = "127.0.0.1", int backlog = int.MaxValue)
        => Listen(new IPEndPoint(IPAddress.Parse(address), 0), backlog);

    public static Socket MakePeer(Socket listener)
        => new(listener.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);

    public static Socket Connect(Socket listener) => Connect(listener.LocalEndPoint!);

    public static Socket Connect(EndPoint endPoint)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(endPoint);
        return socket;
    }

    public static byte[] Receive(Socket socket, int length)
    {
        var bytes = new byte[length];
        for (var received = 0; received < length;)
            received += socket.Receive(bytes.AsSpan(received));
        return bytes;
    }

    public static int GetFlags(int descriptor)
        => Convert.ToInt32(File.ReadLines($"/proc/self/fdinfo/{descriptor}").Single(static line => line.StartsWith(
            "flags:", StringComparison.Ordinal))[6..].Trim(), 8);

    private static Socket Listen(EndPoint endPoint, int backlog)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(endPoint);
        socket.Listen(backlog);
        return socket;
    }
}
