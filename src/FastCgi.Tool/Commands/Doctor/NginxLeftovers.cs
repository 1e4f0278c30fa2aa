namespace FastCgi.Tool.Commands.Doctor;

/// <summary>nginx directives for other protocols, left in copied configurations next to <c>fastcgi_pass</c>.</summary>
internal static class NginxLeftovers
{
    private static readonly Regex s_other = new(@"^(proxy|uwsgi|scgi|grpc)_(?<name>\w+)(?<!_pass)$");
    private static readonly Regex s_special = new("""^$|[ \t\n;{}"'#]""");

    // Headers of the connection, and those that forward the client's address, scheme and host: fastcgi_params passes
    // the same facts in parameters that no client can set.
    private static readonly Regex s_needless = new(
        "^(X-(Forwarded|Original)-.*|Forwarded|X-Real-IP|(X|True)-Client-IP|CF-Connecting-IP|X-Cluster-Client-IP|"
        + "X-(Url-)?Scheme|X-ARR-SSL|Front-End-Https|Connection|Upgrade|Keep-Alive|TE|Trailer|Transfer-Encoding|"
        + @"Proxy(-Connection)?) |^Host .*\$|"
        + @"^\S+ \$\{?(remote_addr|remote_port|realip_remote_\w+|scheme|https|server_port|proxy_add_x_forwarded_for)",
        RegexOptions.IgnoreCase);

    // The directives of ngx_http_fastcgi_module that proxies have too.
    private static readonly Regex s_known = new(
        "^(bind|buffer(_size|ing|s)|busy_buffers_size|cache(?!_convert|_purge)(_.*)?|(connect|read|send)_timeout|"
        + "force_ranges|hide_header|ignore_.*|intercept_errors|limit_rate|max_temp_file_size|next_upstream.*|no_cache|"
        + "param|pass_(header|request_.*)|request_buffering|send_lowat|socket_keepalive|store.*|temp_.*)$");

    public static IEnumerable<Seen> Find(NginxPlace place)
        => from line in place.Pass.Parent!.Block
           let other = s_other.Match(line.Name)
           where line.First is not null && other.Success
           select new Seen(
               line.Where, $"{line.Name} with fastcgi_pass", Fix: Translate(line, other.Groups["name"].Value));

    private static string Translate(Directive line, string name)
    {
        if (name == "set_header" && line.Arguments is [var header, var value])
            return s_needless.IsMatch($"{header} {value}")
                ? "# remove this line: fastcgi_params passes the client's address, scheme and host"
                : $"fastcgi_param {GetParameter(header)} {Quote(value)};";
        return s_known.IsMatch(name)
            ? $"fastcgi_{name} {string.Join(' ', line.Arguments.Select(Quote))};"
            : $"# remove this line: there is no fastcgi_{name}";
    }

    private static string GetParameter(string header)
        => Regex.Replace(HttpParameters.ToParameterName(header), "^HTTP_(?=CONTENT_(TYPE|LENGTH)$)", "");

    private static string Quote(string word) => s_special.IsMatch(word)
        ? '"' + word.Replace("\\", "\\\\").Replace("\"", "\\\"") + '"'
        : word;
}
