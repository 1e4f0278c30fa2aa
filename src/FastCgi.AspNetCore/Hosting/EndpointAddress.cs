using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The text form of what the server listens on: <c>fastcgi://</c> and what follows.</summary>
internal static class EndpointAddress
{
    private const string Scheme = "fastcgi://";
    private const string UnixPrefix = "unix:";
    private const string DescriptorPrefix = "fd:";

    private const string Forms =
        "fastcgi://127.0.0.1:9000, fastcgi://[::1]:9000, fastcgi://*:9000, fastcgi://localhost:9000, fastcgi://unix:/run/app/app.sock, fastcgi://unix:@name, fastcgi://fd:0 or, by the name that systemd gave it, fastcgi://fd:name";

    /// <summary>Whether an address is meant for this server.</summary>
    public static bool IsFastCgi(string address) => address.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether an address is meant for an HTTP server.</summary>
    public static bool IsHttp(string address)
        => address.StartsWith("http://", StringComparison.OrdinalIgnoreCase) || address.StartsWith("https://", StringComparison.OrdinalIgnoreCase);

    /// <summary>Reads an address, with options of the endpoint behind a question mark: <c>?mode=0660&amp;group=www-data</c>.</summary>
    /// <returns>What it names: two endpoints for localhost, else one.</returns>
    /// <exception cref="FormatException">The address has none of the known forms, or an option is not understood.</exception>
    public static IReadOnlyList<FastCgiListenOptions> ParseWithOptions(string address)
    {
        ArgumentNullException.ThrowIfNull(address);
        var question = address.IndexOf('?', StringComparison.Ordinal);
        if (question < 0)
            return ToOptions(Parse(address));

        var endpoints = ToOptions(Parse(address[..question]));
        var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (var option in address[(question + 1)..].Split('&'))
        {
            var name = option.Split('=')[0];
            if (!names.Add(name) && !ListenSettings.IsList(name))
                throw new FormatException($"The address '{address}' cannot be listened on: '{name}' stands there twice. Remove one of the two.");
            foreach (var endpoint in endpoints)
                Apply(address, option, endpoint);
        }

        return endpoints;
    }

    /// <summary>Reads an address without options.</summary>
    /// <returns>What it names: two endpoints for localhost, else one.</returns>
    /// <exception cref="FormatException">The address has none of the known forms.</exception>
    public static IReadOnlyList<EndPoint> Parse(string address)
    {
        ArgumentNullException.ThrowIfNull(address);
        if (!IsFastCgi(address))
            throw Invalid(address, "it does not begin with fastcgi://");

        var rest = address[Scheme.Length..].TrimEnd('/');
        if (rest.StartsWith(UnixPrefix, StringComparison.OrdinalIgnoreCase))
        {
            var path = rest[UnixPrefix.Length..];
            return path.Length > 1 && path[0] is '/' or '@' ? [ToUnixEndPoint(path)] : throw Invalid(address, "the path of a unix socket is absolute, or @ and a name");
        }

        if (rest.StartsWith(DescriptorPrefix, StringComparison.OrdinalIgnoreCase))
        {
            var descriptor = rest[DescriptorPrefix.Length..];
            return descriptor.Length > 0 ? [ToInheritedEndPoint(descriptor)] : throw Invalid(address, "an inherited socket is given by its descriptor or its name");
        }

        return ParseHostAndPort(address, rest);
    }

    /// <summary>The text form of an endpoint.</summary>
    public static string Format(EndPoint endPoint) => endPoint switch
    {
        IPEndPoint ip => Scheme + ip,
        UnixDomainSocketEndPoint unix => Scheme + UnixPrefix + unix,
        InheritedSocketEndPoint inherited => Scheme + DescriptorPrefix + inherited.Name,
        FileHandleEndPoint handle => string.Create(CultureInfo.InvariantCulture, $"{Scheme}{DescriptorPrefix}{handle.FileHandle}"),
        _ => Scheme + endPoint,
    };

    /// <summary>The endpoint of a unix socket: of a path, or of an abstract name behind <c>@</c>.</summary>
    /// <exception cref="FormatException">The path is longer than a socket's address can be.</exception>
    public static UnixDomainSocketEndPoint ToUnixEndPoint(string path)
    {
        try
        {
            return new UnixDomainSocketEndPoint(path[0] == '@' ? "\0" + path[1..] : path);
        }
        catch (ArgumentOutOfRangeException)
        {
            throw new FormatException($"The path of the unix socket '{path}' is too long: the system allows about 107 bytes. Choose a shorter one, such as /run/app/app.sock.");
        }
    }

    /// <summary>Of localhost, the second is left out where the machine does not have it: containers often have no IPv6.</summary>
    private static List<FastCgiListenOptions> ToOptions(IReadOnlyList<EndPoint> endPoints)
        => [.. endPoints.Select(static (endPoint, index) => new FastCgiListenOptions(endPoint) { MayBeAbsent = index > 0 })];

    /// <summary>The endpoint of a descriptor, or, if it is no number, of the sockets that have this name in LISTEN_FDNAMES.</summary>
    private static EndPoint ToInheritedEndPoint(string descriptor)
        => int.TryParse(descriptor, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? new FileHandleEndPoint((ulong)number, FileHandleType.Auto)
            : new InheritedSocketEndPoint(descriptor);

    private static IReadOnlyList<EndPoint> ParseHostAndPort(string address, string rest)
    {
        var colon = rest.LastIndexOf(':');
        if (colon <= 0 || rest[colon..].Contains(']', StringComparison.Ordinal))
            throw Invalid(address, "it has no port");

        if (rest[colon..].Contains('/', StringComparison.Ordinal))
            throw Invalid(address, "there is a path behind the port. The path of the application is set with FastCgi:PathBase");
        if (!ushort.TryParse(rest[(colon + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port))
            throw Invalid(address, "the port is a number from 0 to 65535");

        var host = rest[..colon];
        if (host is "*" or "+")
            return [new IPEndPoint(IPAddress.IPv6Any, port)];

        if (host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
        {
            return port != 0
                ? [new IPEndPoint(IPAddress.Loopback, port), new IPEndPoint(IPAddress.IPv6Loopback, port)]
                : throw Invalid(address, "localhost means two addresses, which cannot both have a port that the system chooses");
        }

        // An IPv6 address is in brackets, and no other is. The parser takes them, and a port behind them too.
        var isBracketed = host[0] == '[' && host[^1] == ']';
        if (IPAddress.TryParse(host, out var ip) && ip.AddressFamily == AddressFamily.InterNetworkV6 == isBracketed)
            return [new IPEndPoint(ip, port)];

        throw Invalid(address, "the host is an IP address, localhost or *");
    }

    private static void Apply(string address, string option, FastCgiListenOptions endpoint)
    {
        var equals = option.IndexOf('=', StringComparison.Ordinal);
        var name = equals < 0 ? option : option[..equals];
        try
        {
            if (ListenSettings.TryApply(name, equals < 0 ? null : Uri.UnescapeDataString(option[(equals + 1)..]), endpoint))
                return;
        }
        catch (Exception exception) when (exception is ArgumentException or FormatException or OverflowException)
        {
            throw new FormatException($"The address '{address}' cannot be listened on: '{option}' is not valid: {exception.Message}", exception);
        }

        throw new FormatException($"The address '{address}' cannot be listened on: '{name}' is not an option of an endpoint. The options are {string.Join(", ", ListenSettings.Names.SkipLast(1))} and {ListenSettings.Names.Last()}, such as fastcgi://unix:/run/app/app.sock?mode=0660&group=www-data.");
    }

    private static FormatException Invalid(string address, string why)
        => new($"The address '{address}' cannot be listened on: {why}. The forms are {Forms}.");
}
