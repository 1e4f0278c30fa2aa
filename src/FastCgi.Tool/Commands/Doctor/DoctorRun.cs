using System.Text.RegularExpressions;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>One run of <c>doctor</c>.</summary>
internal sealed partial class DoctorRun(ToolConsole console, DoctorSettings settings)
{
    public async Task<int> RunAsync(CancellationToken cancellationToken)
    {
        if (settings.Target is { } target)
            return await RunAsync(target, cancellationToken);

        var files = WebServer.All.SelectMany(static server => server.Files).Where(File.Exists).ToList();
        if (files.Count == 0)
            throw new ToolException(ExitCode.CannotRun, "No configuration of a web server was found in /etc. Name a configuration file or the address of an application.");

        var code = ExitCode.Ok;
        foreach (var file in files)
        {
            try
            {
                code = Math.Max(code, await RunAsync(file, cancellationToken));
            }
            catch (ToolException exception)
            {
                // A web server that is installed, but does not use FastCGI.
                await console.Error.WriteLineAsync(PlainText.Line($"{file}: {exception.Message}"));
            }
        }

        return code;
    }

    private async Task<int> RunAsync(string target, CancellationToken cancellationToken)
    {
        var report = new DoctorReport();
        var addresses = new AddressInspector(report, settings);
        if (IsConfiguration(target))
            await InspectFileAsync(target, report, addresses, cancellationToken);
        else
            await addresses.InspectAsync(FastCgiAddress.Parse(target), users: null, HeadBuffer.OfNginx(4096), cancellationToken);
        if (settings.IsJson)
            console.WriteJson(new DoctorDocument(target, report.Problems, report.Notes, report.Findings, report.Facts, report.NotUnderstood),
                ToolJson.Default.DoctorDocument);
        else
            report.Write(console, target);
        return report.Problems > 0 || (settings.IsStrict && report.Notes > 0) ? ExitCode.Failure : ExitCode.Ok;
    }

    /// <summary>Whether it is a file with text, and not a socket.</summary>
    private static bool IsConfiguration(string target)
        => File.Exists(target) && (!OperatingSystem.IsLinux() || SocketFile.Read(target) is not { IsSocket: true });

    private async Task InspectFileAsync(string file, DoctorReport report, AddressInspector addresses, CancellationToken cancellationToken)
    {
        var text = new ConfigurationFiles().Read(file);
        var server = WebServer.Find(settings.Server, text);
        if (!settings.IsOffline)
            await server.CheckAsync(report, file, text, cancellationToken);
        switch (server.Name)
        {
            case "apache":
                await new ApacheInspector(report, addresses).InspectAsync(file, text, cancellationToken);
                break;
            case "lighttpd":
                await new LighttpdInspector(report, addresses).InspectAsync(LighttpdReader.Read(file, text, report), cancellationToken);
                break;
            case "haproxy":
                await new HaProxyInspector(report, addresses).InspectAsync(HaProxyReader.Read(file, text), cancellationToken);
                break;
            case "nginx":
                await new NginxInspector(report, addresses).InspectAsync(NginxReader.Read(file, text, report), cancellationToken);
                break;
            default:
                await InspectAddressesAsync(file, server, text, report, addresses, cancellationToken);
                break;
        }
    }

    /// <summary>Configurations of Caddy and h2o are not understood, but their addresses are found.</summary>
    private static async Task InspectAddressesAsync(string file, WebServer server, string text, DoctorReport report, AddressInspector addresses,
        CancellationToken cancellationToken)
    {
        report.AddNotUnderstood($"{file}: the doctor does not read configurations of {server.Name}, except for addresses");
        var found = text.Contains("fastcgi", StringComparison.Ordinal) ? (server.Name == "caddy" ? CaddyAddress() : H2oAddress()).Matches(text)
            : Enumerable.Empty<Match>();
        foreach (var match in found)
        {
            var host = match.Groups["host"];
            var name = match.Groups["address"].Value;
            if (!FastCgiAddress.TryParse(host.Success ? $"{host.Value}:{name}" : name, out var address))
                continue;

            report.AddFact($"{file}: {address}");
            await addresses.InspectAsync(address, users: null, headBuffer: null, cancellationToken);
        }
    }

    [GeneratedRegex(@"^\s*(reverse_proxy|php_fastcgi)\s+(\*\s+|/\S*\s+)?(unix/)?(?<address>[^\s{]+)", RegexOptions.Multiline)]
    private static partial Regex CaddyAddress();

    [GeneratedRegex(@"fastcgi\.connect:\s*(host:\s*(?<host>\S+)\s+)?port:\s*(?<address>\S+)")]
    private static partial Regex H2oAddress();
}
