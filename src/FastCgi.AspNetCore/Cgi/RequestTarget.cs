namespace FastCgi.AspNetCore.Cgi;

/// <summary>A request target (RFC 9112, section 3.2).</summary>
internal readonly ref struct RequestTarget(ReadOnlySpan<byte> raw, ReadOnlySpan<byte> path, ReadOnlySpan<byte> query)
{
    public ReadOnlySpan<byte> Raw { get; } = raw;
    public ReadOnlySpan<byte> Path { get; } = path;
    public ReadOnlySpan<byte> Query { get; } = query;

    /// <summary>Parses REQUEST_URI. Apache passes the absolute form if the client sent it.</summary>
    public static RequestRejection Parse(
        ReadOnlySpan<byte> requestUri, ReadOnlySpan<byte> method, out RequestTarget target)
    {
        target = default;
        if (!Ascii.IsValid(requestUri) || requestUri.Contains((byte)0))
            return RequestRejection.InvalidTarget;

        if (requestUri[0] != '/')
        {
            var isAsterisk = requestUri.SequenceEqual("*"u8);
            if (isAsterisk || (method.SequenceEqual("CONNECT"u8) && !requestUri.Contains((byte)'/')))
            {
                target = new RequestTarget(requestUri, path: default, query: default);
                return isAsterisk && !method.SequenceEqual("OPTIONS"u8)
                    ? RequestRejection.AsteriskTarget
                    : RequestRejection.None;
            }

            if (!TryCutAuthority(ref requestUri))
                return RequestRejection.InvalidTarget;
        }

        var query = requestUri.IndexOf((byte)'?');
        if (query < 0)
            target = new RequestTarget(requestUri, requestUri, query: default);
        else if (query == 0)
            target = new RequestTarget(requestUri, "/"u8, requestUri);
        else
            target = new RequestTarget(requestUri, requestUri[..query], requestUri[query..]);

        return RequestRejection.None;
    }

    private static bool TryCutAuthority(ref ReadOnlySpan<byte> target)
    {
        var scheme = target.IndexOf("://"u8);
        if (scheme <= 0 || !char.IsAsciiLetter((char)target[0]) || target[..scheme].ContainsAny("/?#"u8))
            return false;

        var authority = target[(scheme + 3)..];
        var end = authority.IndexOfAny((byte)'/', (byte)'?');
        target = end < 0 ? "/"u8 : authority[end..];
        return true;
    }
}
