using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Makes listening sockets.</summary>
internal static class ListenSockets
{
    /// <summary>Binds and listens.</summary>
    /// <exception cref="IOException">The endpoint cannot be listened on; the message says why.</exception>
    public static Socket Listen(FastCgiListenOptions options, InheritedSockets inherited)
    {
        // It listens already, with the backlog that whoever made it wants.
        if (options.EndPoint is FileHandleEndPoint handle)
            return inherited.Open(handle);

        try
        {
            var socket = options.EndPoint switch
            {
                IPEndPoint ip => BindIP(ip),
                UnixDomainSocketEndPoint unix => BindUnix(unix),
                _ => throw new NotSupportedException($"No transport is registered for {options.EndPoint.GetType().Name}."),
            };

            socket.Listen(options.Backlog);
            return socket;
        }
        catch (SocketException exception)
        {
            throw new IOException($"Failed to listen on {options}: {Explain(options.EndPoint, exception.SocketErrorCode)}.", exception);
        }
    }

    private static Socket BindIP(IPEndPoint endPoint)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
                socket.DualMode = true;
            socket.Bind(endPoint);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static Socket BindUnix(UnixDomainSocketEndPoint endPoint)
    {
        var path = endPoint.ToString();
        if (path[0] != '@' && File.Exists(path) && IsStale(endPoint))
            File.Delete(path);

        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Bind(endPoint);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <summary>Whether a socket file is left over from a process that is gone: nobody accepts connections on it.</summary>
    private static bool IsStale(UnixDomainSocketEndPoint endPoint)
    {
        using var probe = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            probe.Connect(endPoint);
            return false;
        }
        catch (SocketException exception)
        {
            return exception.SocketErrorCode == SocketError.ConnectionRefused;
        }
    }

    private static string Explain(EndPoint endPoint, SocketError error) => error switch
    {
        SocketError.AddressAlreadyInUse => "the address is already in use",
        SocketError.AccessDenied => "permission denied",
        SocketError.AddressNotAvailable when endPoint is UnixDomainSocketEndPoint => "the folder of the socket does not exist",
        SocketError.AddressNotAvailable => "this machine does not have the address",
        _ => error.ToString(),
    };
}
