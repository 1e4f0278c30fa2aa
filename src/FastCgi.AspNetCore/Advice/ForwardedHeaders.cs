namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// Finds what the application took from a header although the web server passes it, as middleware for reverse proxies
/// does. Compares values, because the code and the header may have any name.
/// </summary>
internal static class ForwardedHeaders
{
    private const int MaxHeaderName = 100;

    private static readonly char[] s_separators = [',', ';'];

    /// <returns>Each replaced value, with its header; empty if there is none.</returns>
    public static string FindTaken(FastCgiRequest request)
    {
        if (!request.MayHaveNewOrigin)
            return string.Empty;

        var now = (IHttpRequestFeature)request;
        var taken = new List<string>();
        var address = request.HasNewAddress ? Normalize(((IHttpConnectionFeature)request).RemoteIpAddress) : null;
        if (address is not null && !address.Equals(Normalize(new RequestAddresses(request.Parameters).RemoteAddress)))
            Add("the client address", value => address.Equals(Normalize(RequestAddresses.Parse(value)?.Address)));

        if (!now.Scheme.Equals(request.Head.Scheme, StringComparison.OrdinalIgnoreCase))
            Add("the scheme", value => value.Equals(now.Scheme, StringComparison.OrdinalIgnoreCase));

        var host = now.Headers.Host.ToString();
        if (host != request.GetHostAsSent() && host != new RequestHeaders(request)[Known.Host])
            Add("the host", value => value.Equals(host, StringComparison.OrdinalIgnoreCase));
        return string.Join(", ", taken);

        void Add(string what, Func<string, bool> isTaken)
        {
            var header = request.Parameters.GetHeaders()
                .Find(header => header.Key != Known.Host && GetElements(header.Value).Any(isTaken)).Key;
            if (header is not null)
                taken.Add($"{what} ({LogText.Clean(header, MaxHeaderName)})");
        }
    }

    /// <summary>Gets the elements of a list, or the values of Forwarded (RFC 7239).</summary>
    private static IEnumerable<string> GetElements(string value)
        => value.Split(s_separators)
            .Select(static element => element[(element.IndexOf('=', StringComparison.Ordinal) + 1)..].Trim(' ', '"'))
            .Where(static element => element.Length > 0);

    private static IPAddress? Normalize(IPAddress? address)
        => address is { IsIPv4MappedToIPv6: true } ? address.MapToIPv4() : address;
}
