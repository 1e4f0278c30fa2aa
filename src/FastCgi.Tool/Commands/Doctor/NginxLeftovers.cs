namespace FastCgi.Tool.Commands.Doctor;

/// <summary>nginx directives for other protocols, left in copied configurations next to <c>fastcgi_pass</c>.</summary>
internal static class NginxLeftovers
{
    private static readonly string[] s_prefixes = ["proxy_", "uwsgi_", "scgi_", "grpc_"];

    private static readonly SearchValues<char> s_special = SearchValues.Create(" \t\n;{}\"'#");

    // UseForwardedHeaders and similar middleware read these headers. fastcgi_params passes the same facts in parameters
    // that no client can set.
    private static readonly Regex s_forwarded = new(
        "^(X-Forwarded-.*|X-Original-.*|Forwarded|X-Real-IP|X-Client-IP|True-Client-IP|CF-Connecting-IP|"
        + "X-Cluster-Client-IP|X-Scheme|X-Url-Scheme|X-ARR-SSL|Front-End-Https)$",
        RegexOptions.IgnoreCase);
    private static readonly Regex s_origin = new(
        @"^\$\{?(remote_addr|remote_port|realip_remote_\w+|scheme|https|server_port|proxy_add_x_forwarded_for)\}?$");

    private static readonly string[] s_ofConnection =
        ["CONNECTION", "UPGRADE", "KEEP_ALIVE", "TE", "TRAILER", "TRANSFER_ENCODING", "PROXY_CONNECTION", "PROXY"];

    // What FastCGI has no counterpart of.
    private static readonly Regex s_ofOthers = new(
        "^(set_header|set_body|redirect|http_version|method|pass_trailers|cache_convert_head|protocol|string|"
        + "(cookie_|headers_hash_|ssl_|modifier).*)$");

    public static IEnumerable<Seen> Find(NginxPlace place)
        => from line in place.Pass.Parent!.Block
           where line.First is not null && !line.Name.EndsWith("_pass", StringComparison.Ordinal)
               && s_prefixes.Any(prefix => line.Name.StartsWith(prefix, StringComparison.Ordinal))
           select new Seen(line.Where, $"{line.Name} with fastcgi_pass", Fix: Translate(line));

    private static string Translate(Directive line)
    {
        if (line is { Name: "proxy_set_header" or "grpc_set_header", Arguments: [var header, var value] })
            return TranslateHeader(header, value);
        var name = line.Name.Split('_', 2)[1];
        return s_ofOthers.IsMatch(name)
            ? $"# remove this line: there is no fastcgi_{name}"
            : $"fastcgi_{name} {string.Join(' ', line.Arguments.Select(Quote))};";
    }

    private static string TranslateHeader(string header, string value)
    {
        var name = header.ToUpperInvariant().Replace('-', '_');
        if (s_forwarded.IsMatch(header) || s_origin.IsMatch(value))
            return "# remove this line: fastcgi_params passes the client's address, scheme and host";
        if (name == "HOST" && value.Contains('$'))
            return "# remove this line: nginx passes the client's Host header";
        if (s_ofConnection.Contains(name))
            return "# remove this line: FastCGI has no such headers";
        return $"fastcgi_param {(name is "CONTENT_LENGTH" or "CONTENT_TYPE" ? name : "HTTP_" + name)} {Quote(value)};";
    }

    private static string Quote(string word) => word.Length > 0 && word.AsSpan().IndexOfAny(s_special) < 0
        ? word
        : '"' + word.Replace("\\", "\\\\").Replace("\"", "\\\"") + '"';
}
