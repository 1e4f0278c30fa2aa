namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Recognizes, reads, and checks the files of a web server.</summary>
/// <param name="Files">Where distributions have its main file.</param>
/// <param name="Form">A line that only its configurations have.</param>
/// <param name="MainForm">A line that only its main file has.</param>
/// <param name="Commands">The commands that check a file, of which the first installed one is run.</param>
/// <param name="Without">The message about a configuration without FastCGI.</param>
internal sealed record WebServer(
    string Name, Func<DoctorReport, string, string, IEnumerable<Place>> Find, string[] Files,
    string Form, string MainForm, string[] Commands, string Without)
{
    private static readonly Regex s_error = new(
        "emerg|\\[ALERT\\]|[Ss]yntax error|[Ee]rror|Invalid|cannot|unknown|failed|expected");

    public static IReadOnlyList<WebServer> All { get; } =
    [
        new("apache", ApachePlace.Find, ["/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf"],
            @"(?i)^\s*(<(VirtualHost|Location|Directory|Proxy)"
            + @"|(ProxyPass(Match)?|SetHandler|LoadModule|ServerRoot|IncludeOptional|RewriteRule)\s+\S)",
            @"(?i)^\s*(LoadModule|ServerRoot)\b|mods-enabled",
            ["apachectl -t -f {file} -d {folder}", "apache2 -t -f {file} -d {folder}",
            "httpd -t -f {file} -d {folder}"],
            "The configuration has no ProxyPass, SetHandler or RewriteRule that passes requests to FastCGI. "
            + "The doctor follows includes, but not mod_macro."),
        new("lighttpd", LighttpdPlace.Find, ["/etc/lighttpd/lighttpd.conf"],
            @"^\s*(server|fastcgi|scgi|proxy|ssl|setenv|extforward)\.[\w-]+\s*(=|\+=|:=)",
            @"^\s*server\.document-root\s*=", ["lighttpd -tt -f {file}"],
            "The configuration has no fastcgi.server. The doctor follows includes, but not include_shell."),
        new("haproxy", HaProxyPlace.Find, ["/etc/haproxy/haproxy.cfg"],
            @"^((listen|[ \t]*(frontend|backend|fcgi-app))\s+[^\s;{]+|[ \t]*(global|defaults)(\s+\w+)?)"
            + @"[ \t]*(#.*)?\r?$",
            @"^\s*(global|defaults)", ["haproxy -c -f {file}"],
            "The configuration has no server with 'proto fcgi'. If it is in a folder of files, check each file."),
        new("caddy", CaddyPlace.Find, ["/etc/caddy/Caddyfile"],
            @"^\s*(reverse_proxy|php_fastcgi|forward_auth|transport\s+fastcgi|file_server|handle)\b[^;]*$", "",
            ["caddy validate --adapter caddyfile --config {file}"],
            "The configuration has no php_fastcgi and no 'transport fastcgi'."),
        new("nginx", NginxPlace.Find, ["/etc/nginx/nginx.conf"],
            @"^\s*(((http|events|server|stream|types)|(upstream|location|map)\s[^;{}]*)\s*\{"
            + @"|(fastcgi_(pass|param)|(proxy|uwsgi|scgi)_pass|worker_processes|server_name)\s+\S"
            + @"|include\s[^;{}]+;|\# configuration file /)",
            @"^\s*events\b", ["nginx -t -q -c {file} -p {folder}"],
            "The configuration has no fastcgi_pass. Check the main file, or the output of 'nginx -T' in a file."),
    ];

    public static WebServer Recognize(string? name, string file, string text)
    {
        if (text.Contains('\0'))
            throw CannotRun($"{file} is not a text file.");
        if (string.IsNullOrWhiteSpace(text))
            throw CannotRun($"{file} is empty.");
        return All.FirstOrDefault(server => name is null ? Matches(text, server.Form) : server.Name == name)
            ?? throw CannotRun($"{file} does not look like a configuration of "
                + $"{string.Join(", ", All.Select(static known => known.Name))}. If it is one, use --server.");
    }

    /// <summary>Lets the web server check its configuration, and reports its error.</summary>
    /// <param name="isTrusted">Whether to run modules named by a file that users other than root can change.</param>
    public void Check(DoctorReport report, string file, string text, bool isTrusted)
    {
        var program = Commands[^1].Split(' ')[0];
        var path = Path.GetFullPath(file);
        // A file that others include is checked with its main file.
        var main = Matches(text, MainForm) ? path : Files.FirstOrDefault(usual => File.Exists(usual)
            && path.StartsWith(Path.GetDirectoryName(usual) + "/", StringComparison.Ordinal));
        if (main is null)
        {
            report.AddFact($"{file}: {program} did not check it, because it is not a main configuration file");
            return;
        }

        if (Environment.IsPrivilegedProcess && !isTrusted && SocketFile.Read(main) is { IsRoots: false })
        {
            report.AddNotUnderstood(
                $"{program} did not check {main}, because it would run modules that the file names, "
                    + "as root, and others than root can change the file. If you trust it, use --trust");
            return;
        }

        foreach (var command in Commands)
        {
            // The folders of packaged configurations are built into the web servers.
            var parts = Files.Contains(main) ? Regex.Replace(command, " -[pd] {folder}", "") : command;
            string[] words = [.. parts.Split(' ').Select(word
                => word.Replace("{file}", main).Replace("{folder}", Path.GetDirectoryName(main)))];
            if (SystemCommand.Run(words[0], words[1..]) is not var (code, error, output))
                continue;

            Report(report, file, string.Join(' ', words), code, $"{error}\n{output}");
            return;
        }
    }

    private static bool Matches(string text, string form) => Regex.IsMatch(text, form, RegexOptions.Multiline);

    private static void Report(DoctorReport report, string file, string command, int code, string output)
    {
        var lines = output.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        // The first line other than a warning or a summary. Apache prints the place first, and the error in the next
        // line.
        var index = Math.Max(Array.FindIndex(lines, static line => s_error.IsMatch(line)), 0);
        var count = lines.ElementAtOrDefault(index)?.EndsWith(':') == true ? 2 : 1;
        var line = string.Join(' ', lines.Skip(index).Take(count).DefaultIfEmpty($"exit code {code}"));
        if (code == 0)
            report.AddFact($"{command}: no error");
        else if (line.Contains("ermission denied"))
            report.AddNotUnderstood($"{command}: {line}. Run this as root.");
        else
            report.Add(AddressRules.WebServerCheck,
                new(file, $"{command}: {line}", Fix: "# correct the line in the message"));
    }
}
