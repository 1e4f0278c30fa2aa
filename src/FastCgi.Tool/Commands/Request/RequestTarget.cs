namespace FastCgi.Tool.Commands.Request;

/// <summary>A URL as written: its path is neither decoded nor normalized, so that any path can be tested.</summary>
internal sealed record RequestTarget(string Scheme, string Host, int Port, string PathAndQuery)
{
    public static RequestTarget OfThisMachine(string path) => new("http", "localhost", 80, path);

    public static RequestTarget? TryParse(string text)
    {
        if (text.StartsWith('/'))
            return OfThisMachine(text.Split('#')[0]);
        if (!Uri.TryCreate(text, UriKind.Absolute, out var uri) || uri.Scheme is not ("http" or "https")
            || !text.Contains("://", StringComparison.Ordinal))
            return null;

        var authority = text.IndexOf("//", StringComparison.Ordinal) + 2;
        var path = text.AsSpan(authority).IndexOfAny('/', '?', '#');
        var target = path < 0 ? "/" : text[(authority + path)..].Split('#')[0];
        var rooted = target.StartsWith('/') ? target : "/" + target;
        return new RequestTarget(uri.Scheme, HttpParameters.GetHost(uri), uri.Port, rooted);
    }

    /// <summary>The parameters of a request from this machine.</summary>
    public FastCgiParameters CreateParameters(
        string method, string agent, string contentType = "", string contentLength = "", string? host = null)
    {
        var parameters = new FastCgiParameters();
        var (remote, local) = (new IPEndPoint(IPAddress.Loopback, 0), new IPEndPoint(IPAddress.Loopback, Port));
        HttpParameters.AddTarget(parameters, method, PathAndQuery, Encoding.UTF8.GetBytes(contentType), contentLength);
        HttpParameters.AddConnection(parameters, Scheme, "HTTP/1.1", remote, local, Host);
        // With the port, unless it is the default.
        var authority = Port == (Scheme == "https" ? 443 : 80) ? Host : $"{Host}:{Port}";
        parameters.Add("HTTP_HOST", host ?? authority);
        parameters.Add("HTTP_USER_AGENT", agent);
        return parameters;
    }
}
