namespace FastCgi.AspNetCore.Advice;

/// <summary>Finds properties that the application read from headers, although the web server passes them.</summary>
internal static class ForwardedHeaders
{
    private const int MaxHeaderName = 100;

    private static readonly char[] s_separators = [',', ';'];

    /// <returns>Each replaced value, with its header; empty if there is none.</returns>
    public static string FindTaken(FastCgiRequest request)
    {
        // The application may have replaced the features themselves.
        var now = request.Get<IHttpRequestFeature>() ?? request;
        var taken = new List<string>();
        var address = Normalize(request.Get<IHttpConnectionFeature>()?.RemoteIpAddress);
        if (address is not null && !address.Equals(Normalize(new RequestAddresses(request.Parameters).RemoteIpAddress)))
            Add("the client address", (_, value) => address.Equals(Normalize(RequestAddresses.Parse(value)?.Address)));

        if (!now.Scheme.Equals(request.Head.Scheme, StringComparison.OrdinalIgnoreCase))
            Add("the scheme", (name, value) => IsScheme(now.Scheme, name, value));

        var host = now.Headers.Host.ToString();
        if (host != request.GetHostAsSent() && host != request.OriginalHost)
        {
            var name = HostString.FromUriComponent(host).Host;
            Add("the host", (_, value) => value.Equals(host, StringComparison.OrdinalIgnoreCase)
                || value.Equals(name, StringComparison.OrdinalIgnoreCase));
        }

        return string.Join(", ", taken);

        void Add(string what, Func<string, string, bool> isTaken)
        {
            var header = request.Parameters.GetHeaders().Find(header => header.Key != Known.Host
                && GetElements(header.Value).Any(value => isTaken(header.Key, value))).Key;
            if (header is not null)
                taken.Add($"{what} ({LogText.Clean(header, MaxHeaderName)})");
        }
    }

    /// <summary>Whether a header contains the scheme: by name, as a flag, as a port, or in JSON.</summary>
    private static bool IsScheme(string scheme, string header, string value)
    {
        if (value.Equals(scheme, StringComparison.OrdinalIgnoreCase)
            || value.EndsWith($":\"{scheme}\"}}", StringComparison.OrdinalIgnoreCase))
            return true;
        if (!scheme.Equals("https", StringComparison.OrdinalIgnoreCase))
            return false;
        return value.ToLowerInvariant() is "on" or "1" or "true" or "yes"
            ? header.Contains("ssl", StringComparison.OrdinalIgnoreCase)
                || header.Contains("https", StringComparison.OrdinalIgnoreCase)
            : value == "443" && header.Contains("port", StringComparison.OrdinalIgnoreCase);
    }

    /// <summary>Gets the elements of a list, or the values of Forwarded (RFC 7239).</summary>
    private static IEnumerable<string> GetElements(string value)
        => value.Split(s_separators)
            .Select(static element => element[(element.IndexOf('=', StringComparison.Ordinal) + 1)..].Trim(' ', '"'))
            .Where(static element => element.Length > 0);

    private static IPAddress? Normalize(IPAddress? address)
        => address is { IsIPv4MappedToIPv6: true } ? address.MapToIPv4() : address;
}
