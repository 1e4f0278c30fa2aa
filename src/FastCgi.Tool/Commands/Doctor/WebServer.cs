using System.Diagnostics;
using System.Text.RegularExpressions;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A web server: how its files are recognized, and how it checks them itself.</summary>
/// <param name="Name">Its name on the command line.</param>
/// <param name="Files">Where its main file usually is.</param>
/// <param name="Looks">Recognizes a configuration.</param>
/// <param name="LooksMain">Recognizes a main file, which the web server can check by itself.</param>
/// <param name="Commands">Its checks, of which the first one that is installed runs. {file} and {folder} are replaced.</param>
internal sealed partial record WebServer(string Name, string[] Files, Regex Looks, Regex LooksMain, string[] Commands)
{
    // The search path of ordinary users lacks the folders of servers.
    private static readonly string[] s_folders = ["", "/usr/sbin", "/usr/local/sbin", "/sbin"];

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(10);

    /// <summary>All of them. nginx, the last one, is assumed if none is recognized.</summary>
    public static IReadOnlyList<WebServer> All { get; } =
    [
        new("apache", ["/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf"], ApacheLine(), ApacheMain(),
            ["apachectl -t -f {file} -d {folder}", "apache2 -t -f {file} -d {folder}", "httpd -t -f {file} -d {folder}"]),
        new("lighttpd", ["/etc/lighttpd/lighttpd.conf"], LighttpdLine(), LighttpdMain(), ["lighttpd -tt -f {file}"]),
        new("haproxy", ["/etc/haproxy/haproxy.cfg"], HaProxyLine(), HaProxyMain(), ["haproxy -c -f {file}"]),
        new("caddy", ["/etc/caddy/Caddyfile"], CaddyLine(), Any(), ["caddy validate --adapter caddyfile --config {file}"]),
        new("h2o", ["/etc/h2o/h2o.conf"], H2oLine(), Any(), ["h2o -t -c {file}"]),
        new("nginx", ["/etc/nginx/nginx.conf"], Any(), NginxMain(), ["nginx -t -q -c {file} -p {folder}"]),
    ];

    public static WebServer Find(string? name, string text) => All.First(server => name is null ? server.Looks.IsMatch(text) : server.Name == name);

    /// <summary>Lets the web server check its configuration, and reports the line that it complains with.</summary>
    public async Task CheckAsync(DoctorReport report, string file, string text, CancellationToken cancellationToken)
    {
        var path = Path.GetFullPath(file);
        // A file that others include is checked with its main file.
        var main = LooksMain.IsMatch(text) ? path : Files.FirstOrDefault(usual => File.Exists(usual)
            && path.StartsWith(Path.GetDirectoryName(usual) + "/", StringComparison.Ordinal));
        if (main is null)
        {
            report.AddFact($"{file}: {Commands[^1].Split(' ')[0]} did not check it, because it is not a main configuration file");
            return;
        }

        // The folders of packaged configurations are built into the web servers.
        var commands = Files.Contains(main) ? Commands.Select(static command => Regex.Replace(command, " -[pd] {folder}", "")) : Commands;
        foreach (var command in commands)
        {
            var words = command.Split(' ').Select(word => word.Replace("{file}", main, StringComparison.Ordinal)
                .Replace("{folder}", Path.GetDirectoryName(main), StringComparison.Ordinal)).ToArray();
            if (await RunAsync(words[0], words[1..], cancellationToken) is not var (code, output))
                continue;

            var shown = string.Join(' ', words);
            if (code == 0)
                report.AddFact($"{shown}: no error");
            else
                ReportFailure(report, file, shown, FindError(output) ?? $"exit code {code}");
            return;
        }
    }

    private void ReportFailure(DoctorReport report, string file, string command, string line)
    {
        if (line.Contains("ermission denied", StringComparison.Ordinal))
            report.AddNotUnderstood($"{command}: {line}. Run this as root.");
        else
            report.AddProblem("web-server-check", file, $"{command}: {line}", $"{Name} does not start, and a reload keeps the old configuration",
                "# correct the line that it names", "tool.md#doctor");
    }

    /// <summary>The line with the error: the first one that is not a warning or a summary.</summary>
    private static string? FindError(string output)
    {
        var lines = output.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        var line = lines.FirstOrDefault(static line => ErrorLine().IsMatch(line)) ?? lines.FirstOrDefault();
        // Apache names the place first, and the error in the next line.
        return line?.EndsWith(':') == true && Array.IndexOf(lines, line) is var i && i + 1 < lines.Length ? $"{line} {lines[i + 1]}" : line;
    }

    /// <returns><see langword="null"/> if the command is not installed.</returns>
    private static async Task<(int Code, string Output)?> RunAsync(string command, string[] arguments, CancellationToken cancellationToken)
    {
        foreach (var candidate in s_folders.Select(folder => Path.Combine(folder, command)))
        {
            var start = new ProcessStartInfo(candidate, arguments)
            {
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                Environment = { ["LC_ALL"] = "C" }
            };
            try
            {
                using var process = Process.Start(start)!;
                process.StandardInput.Close();
                using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
                limit.CancelAfter(s_patience);
                try
                {
                    var texts = await Task.WhenAll(process.StandardError.ReadToEndAsync(limit.Token), process.StandardOutput.ReadToEndAsync(limit.Token));
                    await process.WaitForExitAsync(limit.Token);
                    return (process.ExitCode, string.Join('\n', texts));
                }
                catch (OperationCanceledException)
                {
                    process.Kill(entireProcessTree: true);
                    cancellationToken.ThrowIfCancellationRequested();
                    return null;
                }
            }
            catch (System.ComponentModel.Win32Exception)
            {
                // Not there.
            }
        }

        return null;
    }

    [GeneratedRegex("emerg|\\[ALERT\\]|[Ss]yntax error|[Ee]rror|Invalid|cannot|unknown|failed|expected")]
    private static partial Regex ErrorLine();

    [GeneratedRegex(@"^\s*(<VirtualHost|<Location|<Directory|<Proxy|ProxyPass|SetHandler|LoadModule|ServerRoot|IncludeOptional|RewriteRule)\b", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex ApacheLine();

    [GeneratedRegex(@"^\s*(LoadModule|ServerRoot)\b|mods-enabled", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex ApacheMain();

    [GeneratedRegex(@"^\s*(server|fastcgi|proxy|ssl|setenv|extforward)\.[\w-]+\s*(=|\+=|:=)", RegexOptions.Multiline)]
    private static partial Regex LighttpdLine();

    [GeneratedRegex(@"^\s*server\.document-root\s*=", RegexOptions.Multiline)]
    private static partial Regex LighttpdMain();

    [GeneratedRegex(@"^((global|defaults)(\s+\w+)?|(frontend|backend|listen|fcgi-app)\s+[^\s;{]+)[ \t]*(#.*)?\r?$", RegexOptions.Multiline)]
    private static partial Regex HaProxyLine();

    [GeneratedRegex("^(global|defaults)", RegexOptions.Multiline)]
    private static partial Regex HaProxyMain();

    [GeneratedRegex(@"^\s*(reverse_proxy|php_fastcgi|transport\s+fastcgi|file_server|handle)\b[^;]*$", RegexOptions.Multiline)]
    private static partial Regex CaddyLine();

    [GeneratedRegex(@"^\s*(hosts|paths|fastcgi\.connect|file\.dir)\s*:", RegexOptions.Multiline)]
    private static partial Regex H2oLine();

    [GeneratedRegex(@"^\s*events\b", RegexOptions.Multiline)]
    private static partial Regex NginxMain();

    [GeneratedRegex("")]
    private static partial Regex Any();
}
