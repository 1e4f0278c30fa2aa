namespace FastCgi.AspNetCore.Hosting.Endpoints;

internal static class EndpointAddress
{
    private const string Scheme = "fastcgi://";
    private const string UnixPrefix = "unix:";
    private const string DescriptorPrefix = "fd:";

    private const string Forms =
        "fastcgi://127.0.0.1:9000, fastcgi://[::1]:9000, fastcgi://*:9000, fastcgi://localhost:9000, "
            + "fastcgi://unix:/run/app/app.sock, fastcgi://unix:@name, fastcgi://fd:0 and, with the name of a systemd "
            + "socket, fastcgi://fd:name";

    public static bool IsFastCgi(string address) => address.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase);

    public static bool IsHttp(string address)
        => address.StartsWith("http://", StringComparison.OrdinalIgnoreCase)
            || address.StartsWith("https://", StringComparison.OrdinalIgnoreCase);

    /// <summary>Parses an address with endpoint options: <c>?mode=0660&amp;group=www-data</c>.</summary>
    /// <returns>Two endpoints for localhost, otherwise one.</returns>
    public static IReadOnlyList<FastCgiListenOptions> ParseWithOptions(string address)
    {
        ArgumentNullException.ThrowIfNull(address);
        var parts = address.Split('?', 2);
        // The second address of localhost may be absent: containers often have no IPv6.
        List<FastCgiListenOptions> endpoints = [.. Parse(parts[0]).Select(
            static (endPoint, index) => new FastCgiListenOptions(endPoint) { MayBeAbsent = index > 0 })];
        var names = new HashSet<string>(StringComparer.OrdinalIgnoreCase);
        foreach (var option in parts.Skip(1).SelectMany(static options => options.Split('&')))
        {
            var (name, value) = option.Split('=', 2) is [var key, var text] ? (key, text) : (option, null);
            if (!names.Add(name) && !ListenSettings.IsList(name))
                throw new FormatException($"The address '{address}' is not valid: it contains '{name}' twice.");
            foreach (var endpoint in endpoints)
                Apply(address, option, name, value, endpoint);
        }

        return endpoints;
    }

    public static IReadOnlyList<EndPoint> Parse(string address)
    {
        ArgumentNullException.ThrowIfNull(address);
        if (!IsFastCgi(address))
            throw Invalid(address, "it does not begin with fastcgi://");

        var rest = address[Scheme.Length..].TrimEnd('/');
        if (rest.StartsWith(UnixPrefix, StringComparison.OrdinalIgnoreCase))
        {
            var path = rest[UnixPrefix.Length..];
            return path is ['/' or '@', _, ..]
                ? [ToUnixEndPoint(path)]
                : throw Invalid(address, "the path of a Unix socket must be absolute, or @ and a name");
        }

        if (rest.StartsWith(DescriptorPrefix, StringComparison.OrdinalIgnoreCase))
            return [ToInheritedEndPoint(rest[DescriptorPrefix.Length..])];
        if (rest.StartsWith('/'))
            throw Invalid(address, $"the path of a Unix socket needs the prefix unix:, as in "
                + $"{Scheme}{UnixPrefix}{rest}");
        return ParseHostAndPort(address, rest);
    }

    public static string Format(EndPoint endPoint) => endPoint switch
    {
        IPEndPoint ip => Scheme + ip,
        UnixDomainSocketEndPoint unix => Scheme + UnixPrefix + unix,
        InheritedSocketEndPoint inherited => Scheme + DescriptorPrefix + inherited.Name,
        FileHandleEndPoint handle
            => string.Create(CultureInfo.InvariantCulture, $"{Scheme}{DescriptorPrefix}{handle.FileHandle}"),
        _ => Scheme + endPoint,
    };

    public static UnixDomainSocketEndPoint ToUnixEndPoint(string path)
    {
        try
        {
            return new UnixDomainSocketEndPoint(path[0] == '@' ? "\0" + path[1..] : path);
        }
        catch (ArgumentOutOfRangeException)
        {
            throw new FormatException($"The path of the Unix socket '{path}' is too long: the limit is 106 bytes. "
                + "Choose a shorter path, such as /run/app/app.sock.");
        }
    }

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
            throw Invalid(address, "it has a path after the port. Set the path of the application with "
                + "FastCgi:PathBase");
        if (!ushort.TryParse(rest[(colon + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port))
            throw Invalid(address, "the port must be a number from 0 to 65535");

        var host = rest[..colon];
        if (host is "*" or "+")
            return [new IPEndPoint(IPAddress.IPv6Any, port)];

        if (host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
        {
            return port != 0
                ? [new IPEndPoint(IPAddress.Loopback, port), new IPEndPoint(IPAddress.IPv6Loopback, port)]
                : throw Invalid(address, "localhost has two addresses, so the system cannot choose the port");
        }

        // Only IPv6 addresses need brackets, but the parser accepts brackets and a port in any address.
        var isBracketed = host[0] == '[' && host[^1] == ']';
        if (IPAddress.TryParse(host, out var ip) && ip.AddressFamily == AddressFamily.InterNetworkV6 == isBracketed)
            return [new IPEndPoint(ip, port)];

        throw Invalid(address, "the host must be an IP address, localhost or *");
    }

    private static void Apply(
        string address, string option, string name, string? value, FastCgiListenOptions endpoint)
    {
        try
        {
            if (ListenSettings.TryApply(name, value is null ? null : Uri.UnescapeDataString(value), endpoint))
                return;
        }
        catch (Exception exception) when (exception is ArgumentException or FormatException or OverflowException)
        {
            throw new FormatException($"The address '{address}' is not valid because of '{option}': "
                + $"{exception.Message}", exception);
        }

        throw new FormatException($"The address '{address}' is not valid: '{name}' is not an endpoint option. "
            + $"The options are {string.Join(", ", ListenSettings.Names.SkipLast(1))} and "
            + $"{ListenSettings.Names.Last()}, such as fastcgi://unix:/run/app/app.sock?mode=0660&group=www-data.");
    }

    private static FormatException Invalid(string address, string why)
        => new($"The address '{address}' is not valid: {why}. Valid forms are {Forms}.");
}
