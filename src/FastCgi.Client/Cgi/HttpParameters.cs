namespace FastCgi.Client.Cgi;

/// <summary>Converts an HTTP request to CGI parameters, as nginx does with its <c>fastcgi_params</c>.</summary>
internal static class HttpParameters
{
    // Hop-by-hop headers (RFC 9110, section 7.6.1), and Proxy: some programs use its parameter (httpoxy).
    private static readonly HashSet<string> s_dropped = new(StringComparer.OrdinalIgnoreCase)
    {
        "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "TE", "Trailer", "Upgrade", "Expect",
        "Proxy", "Content-Length", "Content-Type",
    };

    /// <summary>Whether a header becomes an HTTP_ parameter.</summary>
    public static bool IsPassed(string name)
        => !s_dropped.Contains(name) && !name.Contains('_', StringComparison.Ordinal);

    public static string ToParameterName(string header) => "HTTP_" + header.Replace('-', '_').ToUpperInvariant();

    /// <summary>Adds the target and the content headers, as in the request; missing ones are empty.</summary>
    public static void AddTarget(
        FastCgiParameters parameters, string method, string target, byte[] contentType, string contentLength)
    {
        var question = target.IndexOf('?', StringComparison.Ordinal);
        var path = Uri.UnescapeDataString(question < 0 ? target : target[..question]);
        parameters.Add("QUERY_STRING", question < 0 ? "" : target[(question + 1)..]);
        parameters.Add("REQUEST_METHOD", method);
        parameters.Add("CONTENT_TYPE"u8.ToArray(), contentType);
        parameters.Add("CONTENT_LENGTH", contentLength);
        parameters.Add("SCRIPT_NAME", path);
        parameters.Add("REQUEST_URI", target);
        parameters.Add("DOCUMENT_URI", path);
    }

    public static void AddConnection(FastCgiParameters parameters, string scheme, string protocol, IPEndPoint remote,
        IPEndPoint local, string serverName)
    {
        parameters.Add("SERVER_PROTOCOL", protocol);
        parameters.Add("REQUEST_SCHEME", scheme);
        if (scheme == "https")
            parameters.Add("HTTPS", "on");
        parameters.Add("GATEWAY_INTERFACE", "CGI/1.1");
        parameters.Add("SERVER_SOFTWARE", "FastCgi.Client");
        parameters.Add("REMOTE_ADDR", remote.Address.ToString());
        parameters.Add("REMOTE_PORT", remote.Port.ToString(CultureInfo.InvariantCulture));
        parameters.Add("SERVER_ADDR", local.Address.ToString());
        parameters.Add("SERVER_PORT", local.Port.ToString(CultureInfo.InvariantCulture));
        parameters.Add("SERVER_NAME", serverName);
    }

    public static FastCgiParameters Create(HttpRequestMessage message, FastCgiHttpHandler handler)
    {
        var uri = message.RequestUri!;
        var parameters = new FastCgiParameters();
        var length = message.Content?.Headers.ContentLength;
        var contentType = message.Content?.Headers.NonValidated.TryGetValues("Content-Type", out var type) == true
            ? type.ToString()
            : "";
        AddTarget(parameters, message.Method.Method, uri.PathAndQuery,
            Encoding.UTF8.GetBytes(contentType), FormattableString.Invariant($"{length}"));
        var local = new IPEndPoint(handler.LocalEndPoint.Address, uri.Port);
        AddConnection(parameters, uri.Scheme, $"HTTP/{message.Version.ToString(2)}", handler.RemoteEndPoint, local,
            GetHost(uri));

        parameters.Add("HTTP_HOST", message.Headers.Host ?? GetHost(uri) + (uri.IsDefaultPort ? "" : $":{uri.Port}"));
        var headers = message.Headers.NonValidated.Concat(message.Content?.Headers.NonValidated ?? default);
        foreach (var (name, values) in headers.Where(static header => IsPassed(header.Key)
            && !header.Key.Equals("Host", StringComparison.OrdinalIgnoreCase)))
        {
            var separator = name.ToUpperInvariant() switch { "COOKIE" => "; ", "USER-AGENT" => " ", _ => ", " };
            parameters.Add(ToParameterName(name), string.Join(separator, values));
        }

        message.Options.TryGetValue(FastCgiHttpHandler.RequestParameters, out var own);
        foreach (var (name, value) in handler.Parameters.Concat(own ?? []))
            parameters[name] = value;
        return parameters;
    }

    /// <summary>Gets the host as it is written in a URL: an IPv6 address in brackets, a name in ASCII.</summary>
    public static string GetHost(Uri uri) => uri.HostNameType == UriHostNameType.IPv6 ? uri.Host : uri.IdnHost;
}
