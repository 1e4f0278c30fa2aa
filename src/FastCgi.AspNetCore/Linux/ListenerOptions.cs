namespace FastCgi.AspNetCore.Linux;

internal static class ListenerOptions
{
    private const int BindToInterface = 62;

    // No network interface has this index, in any byte order.
    private const int NoInterface = int.MaxValue;

    // Started handshakes complete within a round trip in a server network.
    private static readonly TimeSpan s_handshakeTime = TimeSpan.FromMilliseconds(10);

    /// <summary>Enables TCP_NODELAY and SO_KEEPALIVE for all connections. Has no effect on Unix sockets.</summary>
    public static void SetTcp(Socket socket)
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

    /// <summary>
    /// Closes the accept queue before the socket, whose close would reset queued connections: refuses new connections,
    /// and lets those in the queue be accepted. TCP has no call for this: the socket is bound to an interface that does
    /// not exist, so the kernel finds no listener. Linux before 5.7 requires a privilege.
    /// </summary>
    /// <returns>Whether the system supports this. If not, the close resets new connections.</returns>
    public static bool TryCloseQueue(Socket socket)
    {
        if (!OperatingSystem.IsLinux())
            return false;

        try
        {
            if (socket.AddressFamily == AddressFamily.Unix)
            {
                socket.Shutdown(SocketShutdown.Receive);
                return true;
            }

            socket.SetRawSocketOption(Libc.SocketLevel, BindToInterface, MemoryMarshal.AsBytes<int>([NoInterface]));
        }
        catch (SocketException)
        {
            return false;
        }

        // No timer: the application may keep all threads of the pool.
        Thread.Sleep(s_handshakeTime);
        return true;
    }
}
