using System.Net.Sockets;

namespace FastCgi.AspNetCore.Linux;

/// <summary>The options of TCP sockets, on any system. On Linux, connections inherit them from the listening socket.</summary>
internal static class TcpOptions
{
    /// <summary>Sends without delay, and finds out when the peer is gone. Does nothing for unix sockets.</summary>
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
            // Of another kind than TCP, or the peer has gone. The options make it better, and are not needed.
        }
    }
}
