namespace FastCgi.AspNetCore.Linux;

/// <summary>Closes the accept queue before the socket, whose close would reset queued connections.</summary>
internal static class AcceptQueue
{
    private const int BindToInterface = 62;

    // No network interface has this index, in any byte order.
    private const int NoInterface = int.MaxValue;

    // Started handshakes complete within a round trip in a server network.
    private static readonly TimeSpan s_handshakeTime = TimeSpan.FromMilliseconds(10);

    /// <summary>
    /// Refuses new connections; those in the queue can still be accepted. TCP has no call for this: the socket is bound
    /// to an interface that does not exist, so the kernel finds no listener. Linux before 5.7 requires a privilege.
    /// </summary>
    /// <returns>Whether the system supports this. If not, the close resets new connections.</returns>
    public static bool TryClose(Socket socket)
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
