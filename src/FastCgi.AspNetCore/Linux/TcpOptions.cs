namespace FastCgi.AspNetCore.Linux;

internal static class TcpOptions
{
    /// <summary>Enables TCP_NODELAY and SO_KEEPALIVE. Has no effect on Unix sockets.</summary>
    public static void Set(Socket socket)
    {
        if (socket.AddressFamily == AddressFamily.Unix)
            return;

        try
        {
            socket.NoDelay = true;
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
        }
        catch (SocketException)
        {
            // Not TCP, or the peer has disconnected. The options are optional.
        }
    }
}
