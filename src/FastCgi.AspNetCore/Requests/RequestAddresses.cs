namespace FastCgi.AspNetCore.Requests;

/// <summary>The addresses of the client and of the web server (RFC 3875, section 4.1).</summary>
internal sealed class RequestAddresses : HttpConnectionFeature
{
    private readonly IPAddress? _sentAddress;

    public RequestAddresses(RequestParameters parameters, string connectionId = "")
    {
        ConnectionId = connectionId;
        (_sentAddress, RemotePort) = Read(parameters, "REMOTE_ADDR", "REMOTE_PORT");
        RemoteIpAddress = _sentAddress;
        (LocalIpAddress, LocalPort) = Read(parameters, "SERVER_ADDR", "SERVER_PORT");
    }

    public bool HasNewAddress => RemoteIpAddress != _sentAddress;

    /// <summary>Prefers a port in the address: the separate parameter may be that of a load balancer.</summary>
    private static (IPAddress? Address, int Port) Read(RequestParameters parameters, string address, string port)
    {
        var endPoint = Parse(parameters.GetVariable(address));
        return (endPoint?.Address, endPoint is { Port: > 0 } ? endPoint.Port : ParsePort(parameters.GetVariable(port)));
    }

    /// <returns>Null for <c>unix:</c> (nginx), and for ambiguous addresses such as 010.0.0.1.</returns>
    public static IPEndPoint? Parse(string? text)
    {
        // A header may contain a list with one element.
        var trimmed = text.AsSpan().Trim(", \t");
        if (!IPEndPoint.TryParse(trimmed, out var endPoint))
            return null;

        var digits = trimmed.IndexOf('%') is >= 0 and var zone ? trimmed[..zone] : trimmed;
        var dot = digits.IndexOf('.');
        var address = endPoint.Address;
        if (address.AddressFamily == AddressFamily.InterNetworkV6)
        {
            if (dot < 0)
                return endPoint;

            // An IPv6 address may end with an IPv4 address.
            address = new IPAddress(address.GetAddressBytes().AsSpan(12));
        }

        var written = digits[(digits[..Math.Max(dot, 0)].LastIndexOf(':') + 1)..];
        var canonical = address.ToString();
        return written.StartsWith(canonical) && written[canonical.Length..] is [] or [':' or ']', ..] ? endPoint : null;
    }

    private static int ParsePort(string? text)
        => ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var port) ? port : 0;
}
