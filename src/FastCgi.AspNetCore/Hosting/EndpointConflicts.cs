using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Finds endpoints that cannot be listened on because another one of this application takes their address.</summary>
internal static class EndpointConflicts
{
    /// <summary>Looks at each pair.</summary>
    /// <param name="fastCgi">Our endpoints.</param>
    /// <param name="http">Kestrel's addresses.</param>
    /// <exception cref="IOException">Two have one address; the message names both.</exception>
    public static void ThrowIfAny(IReadOnlyList<FastCgiListenOptions> fastCgi, IReadOnlyList<string> http)
    {
        for (var i = 0; i < fastCgi.Count; i++)
        {
            var endpoint = fastCgi[i];
            if (fastCgi.Take(i).FirstOrDefault(other => AreOne(endpoint.EndPoint, other.EndPoint)) is { } other)
                throw SocketBinder.Failure(endpoint, Explain(endpoint, other.ToString(), other.Origin));
            if (http.FirstOrDefault(address => AreOne(endpoint.EndPoint, address)) is { } taken)
                throw SocketBinder.Failure(endpoint, Explain(endpoint, taken, EndpointPlan.UrlsOrigin));
        }
    }

    private static string Explain(FastCgiListenOptions endpoint, string other, string origin) => endpoint.Origin == origin
        ? $"{origin} names the address twice, here and as {other}. Remove one of the two, or choose another port or path"
        : $"{endpoint.Origin} names the address, and {origin} does too, as {other}. Remove one of the two, or choose another port or path";

    private static bool AreOne(EndPoint left, EndPoint right) => (left, right) switch
    {
        (IPEndPoint a, IPEndPoint b) => a.Port == b.Port && a.Port != 0 && AreOne(a.Address, b.Address),
        (UnixDomainSocketEndPoint a, UnixDomainSocketEndPoint b) => GetPath(a.ToString()) == GetPath(b.ToString()),
        (FileHandleEndPoint a, FileHandleEndPoint b) => a.FileHandle == b.FileHandle,
        _ => left.Equals(right),
    };

    private static bool AreOne(IPAddress left, IPAddress right)
        => left.Equals(right) || left.Equals(IPAddress.IPv6Any) || right.Equals(IPAddress.IPv6Any)
            || (left.AddressFamily == AddressFamily.InterNetwork && right.AddressFamily == AddressFamily.InterNetwork
                && (left.Equals(IPAddress.Any) || right.Equals(IPAddress.Any)));

    private static bool AreOne(EndPoint endPoint, string http)
    {
        BindingAddress address;
        try
        {
            address = BindingAddress.Parse(http);
        }
        catch (FormatException)
        {
            // Kestrel says better what is wrong with it.
            return false;
        }

        if (address.IsUnixPipe)
            return endPoint is UnixDomainSocketEndPoint unix && GetPath(unix.ToString()) == GetPath(address.UnixPipePath);
        if (endPoint is not IPEndPoint ip || ip.Port != address.Port || ip.Port == 0)
            return false;
        if (address.Host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
            return AreOne(ip.Address, IPAddress.Loopback) || AreOne(ip.Address, IPAddress.IPv6Loopback);

        // A name that is no address means all of them.
        return AreOne(ip.Address, IPAddress.TryParse(address.Host, out var host) ? host : IPAddress.IPv6Any);
    }

    private static string GetPath(string path) => path[0] is '@' or '\0' ? path : Path.GetFullPath(path);
}
