using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Transport.Harness;

/// <summary>What moves the bytes.</summary>
public enum Engine
{
    Epoll,

    /// <summary>Kestrel's sockets and loops without epoll, as on other systems than Linux.</summary>
    Socket,

    /// <summary>A foreign <see cref="IConnectionListenerFactory"/>, here of Kestrel's sockets.</summary>
    Pipe,
}

/// <summary>An engine with a kind of socket.</summary>
public sealed record TransportSetup(Engine Engine, bool IsUnix)
{
    public static TheoryData<TransportSetup> All => [.. List];

    public static IEnumerable<TransportSetup> List
        => from engine in Enum.GetValues<Engine>()
           from isUnix in new[] { false, true }
           select new TransportSetup(engine, isUnix);

    /// <summary>The setups in which another thread takes over the loop of a blocked handler.</summary>
    public static TheoryData<TransportSetup> Epoll => [new(Engine.Epoll, false), new(Engine.Epoll, true)];

    /// <summary>An unused address.</summary>
    public EndPoint CreateEndPoint(string folder)
    {
        if (IsUnix)
            return new UnixDomainSocketEndPoint(Path.Combine(folder, "app.sock"));

        using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        probe.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return probe.LocalEndPoint!;
    }

    public override string ToString() => $"{Engine} {(IsUnix ? "unix" : "TCP")}";
}

/// <summary>An endpoint that only a listener factory can bind.</summary>
internal sealed class ForeignEndPoint(EndPoint endPoint) : EndPoint
{
    public EndPoint EndPoint => endPoint;
}

/// <summary>Kestrel's sockets for <see cref="ForeignEndPoint"/>.</summary>
internal sealed class ForeignListenerFactory(
    SocketTransportFactory sockets) : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    public bool CanBind(EndPoint endpoint) => endpoint is ForeignEndPoint;

    public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
        => sockets.BindAsync(((ForeignEndPoint)endpoint).EndPoint, cancellationToken);
}
