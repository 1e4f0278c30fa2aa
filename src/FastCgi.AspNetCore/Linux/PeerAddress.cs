using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.Linux;

/// <summary>Who is at the other end of a socket.</summary>
internal static class PeerAddress
{
    /// <summary>The address of the peer, or <see langword="null"/> where the system does not tell.</summary>
    public static EndPoint? Get(int descriptor)
    {
        try
        {
            using var handle = new SafeSocketHandle(descriptor, ownsHandle: false);
            using var socket = new Socket(handle);
            return socket.RemoteEndPoint;
        }
        catch (SocketException)
        {
            return null;
        }
    }
}
