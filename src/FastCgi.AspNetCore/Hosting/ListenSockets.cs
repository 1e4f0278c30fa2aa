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
        SocketError.AddressAlreadyInUse when endPoint is UnixDomainSocketEndPoint
            => "the address is already in use. Stop the process that listens there (ss -lxp shows it), or choose another path",
        SocketError.AddressAlreadyInUse => "the address is already in use. Stop the process that listens there (ss -ltnp shows it), or choose another port",
        SocketError.AccessDenied when endPoint is UnixDomainSocketEndPoint
            => "permission denied. The user that runs the application must be allowed to write to the folder of the socket",
        SocketError.AccessDenied => "permission denied. A port below 1024 needs the capability CAP_NET_BIND_SERVICE; choose another one",
        SocketError.AddressNotAvailable when endPoint is UnixDomainSocketEndPoint
            => "the folder of the socket does not exist. Make it, or let systemd do so with RuntimeDirectory=",
        SocketError.AddressNotAvailable => $"this machine does not have the address. For all that it has, use fastcgi://*:{((IPEndPoint)endPoint).Port}",
        _ => error.ToString(),
    };
}
