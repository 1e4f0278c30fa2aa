namespace FastCgi.Tool.Commands.Request;

/// <summary>A URL as written: its path is neither decoded nor normalized, so that any path can be tested.</summary>
internal sealed record RequestTarget(string Scheme, string Host, int Port, string PathAndQuery)
{
    /// <summary>The Host header, with the port unless it is the default.</summary>
    public string HostAndPort => Port == (Scheme == "https" ? 443 : 80) ? Host : $"{Host}:{Port}";

    public static RequestTarget? TryParse(string text)
    {
        if (text.StartsWith('/'))
            return new RequestTarget("http", "localhost", 80, WithoutFragment(text));
        if (!Uri.TryCreate(text, UriKind.Absolute, out var uri) || uri.Scheme is not ("http" or "https")
            || !text.Contains("://", StringComparison.Ordinal))
            return null;

        var authority = text.IndexOf("//", StringComparison.Ordinal) + 2;
        var path = text.AsSpan(authority).IndexOfAny('/', '?', '#');
        var target = path < 0 ? "/" : WithoutFragment(text[(authority + path)..]);
        var rooted = target.StartsWith('/') ? target : "/" + target;
        return new RequestTarget(uri.Scheme, HttpParameters.GetHost(uri), uri.Port, rooted);
    }

    private static string WithoutFragment(string text) => text.Split('#')[0];
}
