namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A web server: how its files are recognized, read, and checked by itself.</summary>
internal sealed record WebServer(
    string Name, string[] Files, Regex Looks, Regex LooksMain, Func<DoctorReport, string, string,
        IEnumerable<Place>> Find,
    string Without, params string[] Commands)
{
    private static readonly Regex s_error = new(
        "emerg|\\[ALERT\\]|[Ss]yntax error|[Ee]rror|Invalid|cannot|unknown|failed|expected");

    public static IReadOnlyList<WebServer> All { get; } =
    [
        new("apache", ["/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf"],
            Lines(@"(?i)^\s*(<(VirtualHost|Location|Directory|Proxy)|"
                + @"(ProxyPass|SetHandler|LoadModule|ServerRoot|IncludeOptional|RewriteRule)\s+\S)"),
            Lines(@"(?i)^\s*(LoadModule|ServerRoot)\b|mods-enabled"), ApachePlace.Find,
            "The configuration has no ProxyPass, SetHandler or RewriteRule that passes requests to FastCGI. "
                + "The doctor follows includes, but not mod_macro.",
            "apachectl -t -f {file} -d {folder}", "apache2 -t -f {file} -d {folder}", "httpd -t -f {file} -d {folder}"),
        new("lighttpd", ["/etc/lighttpd/lighttpd.conf"],
            Lines(@"^\s*(server|fastcgi|scgi|proxy|ssl|setenv|extforward)\.[\w-]+\s*(=|\+=|:=)"),
            Lines(@"^\s*server\.document-root\s*="), LighttpdPlace.Find,
            "The configuration has no fastcgi.server. The doctor follows includes, but not include_shell.",
            "lighttpd -tt -f {file}"),
        new("haproxy", ["/etc/haproxy/haproxy.cfg"],
            Lines(@"^((global|defaults)(\s+\w+)?|(frontend|backend|listen|fcgi-app)\s+[^\s;{]+)[ \t]*(#.*)?\r?$"),
            Lines("^(global|defaults)"), HaProxyPlace.Find,
            "The configuration has no server with 'proto fcgi'. If it is in a folder of files, check each file.",
            "haproxy -c -f {file}"),
        new("caddy", ["/etc/caddy/Caddyfile"],
            Lines(@"^\s*(reverse_proxy|php_fastcgi|forward_auth|transport\s+fastcgi|file_server|handle)\b[^;]*$"),
            Lines(""), CaddyPlace.Find, "The configuration has no php_fastcgi and no 'transport fastcgi'.",
            "caddy validate --adapter caddyfile --config {file}"),
        new("h2o", ["/etc/h2o/h2o.conf"], Lines(@"^\s*(hosts|paths|fastcgi\.connect|file\.dir)\s*:"), Lines(""),
            H2oPlace.Find, "The configuration has no fastcgi.connect.", "h2o -t -c {file}"),
        new("nginx", ["/etc/nginx/nginx.conf"], NginxReader.Looks, Lines(@"^\s*events\b"), NginxPlace.Find,
            "The configuration has no fastcgi_pass. Check the main file, or the output of 'nginx -T' in a file.",
            "nginx -t -q -c {file} -p {folder}"),
    ];

    private static Regex Lines(string pattern) => new(pattern, RegexOptions.Multiline);

    public static WebServer Recognize(string? name, string file, string text)
    {
        if (text.Contains('\0', StringComparison.Ordinal))
            throw new ToolException(ExitCode.CannotRun, $"{file} is not a text file.");
        if (string.IsNullOrWhiteSpace(text))
            throw new ToolException(ExitCode.CannotRun, $"{file} is empty.");
        return All.FirstOrDefault(server => name is null ? server.Looks.IsMatch(text) : server.Name == name)
            ?? throw new ToolException(ExitCode.CannotRun, $"{file} does not look like a configuration of "
                + $"{string.Join(", ", All.Select(static known => known.Name))}. If it is one, use --server.");
    }

    /// <summary>Lets the web server check its configuration, and reports the line that it complains with.</summary>
    public void Check(DoctorReport report, string file, string text)
    {
        var path = Path.GetFullPath(file);
        // A file that others include is checked with its main file.
        var main = LooksMain.IsMatch(text)
            ? path
            : Files.FirstOrDefault(usual => File.Exists(usual)
                && path.StartsWith(Path.GetDirectoryName(usual) + "/", StringComparison.Ordinal));
        if (main is null)
        {
            report.AddFact(
                $"{file}: {Commands[^1].Split(' ')[0]} did not check it, because it is not a main configuration file");
            return;
        }

        foreach (var command in Commands)
        {
            // The folders of packaged configurations are built into the web servers.
            var parts = Files.Contains(main) ? Regex.Replace(command, " -[pd] {folder}", "") : command;
            string[] words = [.. parts.Split(' ').Select(word
                => word switch { "{file}" => main, "{folder}" => Path.GetDirectoryName(main)!, _ => word })];
            if (SystemCommand.Run(words[0], words[1..]) is not var (code, error, output))
                continue;

            Report(report, file, string.Join(' ', words), code, $"{error}\n{output}");
            return;
        }
    }

    private static void Report(DoctorReport report, string file, string command, int code, string output)
    {
        var lines = output.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        // The first line that is not a warning or a summary. Apache names the place first, and the error in the next
        // line.
        var index = Math.Max(Array.FindIndex(lines, static line => s_error.IsMatch(line)), 0);
        var count = lines.ElementAtOrDefault(index)?.EndsWith(':') == true ? 2 : 1;
        var line = string.Join(' ', lines.Skip(index).Take(count).DefaultIfEmpty($"exit code {code}"));
        if (code == 0)
            report.AddFact($"{command}: no error");
        else if (line.Contains("ermission denied", StringComparison.Ordinal))
            report.AddNotUnderstood($"{command}: {line}. Run this as root.");
        else
            report.Add("all.web-server-check", new(file, command, line));
    }
}
