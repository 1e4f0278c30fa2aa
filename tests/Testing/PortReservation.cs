namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// A free TCP port, reserved until disposal. The socket is bound and does not listen, so a web server, which
/// sets SO_REUSEADDR as .NET does, can still bind and listen on it.
/// </summary>
public sealed class PortReservation : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    public PortReservation()
    {
        _socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        EndPoint = (IPEndPoint)_socket.LocalEndPoint!;
    }

    public IPEndPoint EndPoint { get; }

    public void Dispose() => _socket.Dispose();
}
