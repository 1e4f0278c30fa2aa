namespace FastCgi.AspNetCore.Hosting.Endpoints;

internal static class SocketBinder
{
    public static ListeningSocket Listen(FastCgiListenOptions options, InheritedSockets inherited, ILogger log)
    {
        var socket = Open(options, inherited, log);
        try
        {
            socket.Peers = PeerPolicies.Create(options, socket.EndPoint);
            return socket;
        }
        catch
        {
            socket.Socket.Dispose();
            throw;
        }
    }

    public static IOException Failure(FastCgiListenOptions options, string why, Exception? exception = null)
        => new($"Failed to listen on {options}: {why}.", exception);

    private static ListeningSocket Open(FastCgiListenOptions options, InheritedSockets inherited, ILogger log)
    {
        if (options.EndPoint is UnixDomainSocketEndPoint unix)
            return UnixSockets.Listen(options, unix, log);
        if (options.ChangesSocketFile)
            throw Failure(options, "Mode, Owner, Group and CreateDirectory apply only to the file of a Unix socket. "
                + "Remove them from the endpoint");

        return options.EndPoint switch
        {
            IPEndPoint ip => Listen(options, ip),
            // The socket already listens, with the backlog of its creator.
            FileHandleEndPoint handle => inherited.Open(handle),
            _ => throw new NotSupportedException($"No transport is registered for {options.EndPoint.GetType().Name}."),
        };
    }

    private static ListeningSocket Listen(FastCgiListenOptions options, IPEndPoint endPoint)
    {
        if (endPoint.Address.IsIPv4MappedToIPv6)
            endPoint = new IPEndPoint(endPoint.Address.MapToIPv4(), endPoint.Port);

        Socket? socket = null;
        try
        {
            socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Tcp);
            if (endPoint.Address.Equals(IPAddress.IPv6Any))
                socket.DualMode = true;
            socket.Bind(endPoint);
            socket.Listen(options.Backlog);
            return new ListeningSocket(socket) { EndPoint = socket.LocalEndPoint! };
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AddressFamilyNotSupported
            && endPoint.Address.Equals(IPAddress.IPv6Any))
        {
            // All addresses of a machine without IPv6, as in Kestrel.
            socket?.Dispose();
            return Listen(options, new IPEndPoint(IPAddress.Any, endPoint.Port));
        }
        catch (SocketException exception)
        {
            socket?.Dispose();
            throw Failure(options, Explain(endPoint, exception.SocketErrorCode), exception);
        }
    }

    private static string Explain(IPEndPoint endPoint, SocketError error) => error switch
    {
        SocketError.AddressAlreadyInUse
            => "the address is already in use. Stop the process that uses it (run ss -ltnp), or choose another port",
        SocketError.AccessDenied
            => "permission denied. A port below 1024 requires the capability CAP_NET_BIND_SERVICE; choose another port",
        SocketError.AddressNotAvailable
            => $"this machine does not have the address. To listen on all addresses, use fastcgi://*:{endPoint.Port}",
        SocketError.AddressFamilyNotSupported
            => "this machine does not have IPv6. Use an IPv4 address, such as 0.0.0.0 for all addresses",
        _ => error.ToString(),
    };
}
