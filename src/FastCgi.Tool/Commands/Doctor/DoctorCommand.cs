using System.CommandLine;
using System.CommandLine.Parsing;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary><c>fastcgi doctor</c>: what is wrong between a web server and an application.</summary>
internal static class DoctorCommand
{
    private const string Description = "Finds what is wrong between a web server and a FastCGI application, from an address or from the web server's configuration.";

    private const string Details =
        """
        Of an address it looks at the socket, who may connect to it, what answers there, and the process behind it. Of a configuration (nginx, or
        what 'nginx -T' writes; Apache; lighttpd; HAProxy) it reads each place that passes requests to FastCGI, and looks at the address that is named
        there. It sends one GET to the application, and with --status another one.

        A problem fails now, or for certain when it is needed. A note is right for many applications and wrong for some: it says for which. What is
        not understood of a configuration is passed over.

        Examples:
          fastcgi doctor /run/app/app.sock
          fastcgi doctor /etc/nginx/sites-enabled/app.conf
          fastcgi doctor /etc/apache2/sites-enabled/app.conf --no-connect --json
          fastcgi doctor /etc/haproxy/haproxy.cfg --status /fastcgi-status

        Exit codes: 0 there is no problem, 1 there are some (or, with --strict, notes), 2 usage, 3 it cannot be looked at.
        """;

    public static Command Create(ToolConsole console)
    {
        var target = new Argument<string>("ADDRESS|CONFIG-FILE")
        {
            Description = "Where the application listens, or a file with the web server's configuration",
            Validators = { static result => CheckTarget(result) },
        };
        var server = new Option<string>("--server") { Description = "Whose configuration it is; found out if not given", HelpName = "nginx|apache|lighttpd|haproxy" };
        server.AcceptOnlyFromAmong("nginx", "apache", "lighttpd", "haproxy");
        var path = new Option<string>("--path") { Description = "Path and query of the page that is asked for", DefaultValueFactory = static _ => "/", HelpName = "PATH" };
        var status = new Option<string>("--status") { Description = "Read the status of the application too, at the path of MapFastCgiStatus(): what it recommends, and its limits", HelpName = "PATH" };
        var parameters = CommonOptions.Parameters();
        var offline = new Option<bool>("--no-connect") { Description = "Read the configuration only: look at no socket and send nothing" };
        var strict = new Option<bool>("--strict") { Description = "Notes are exit code 1 too" };
        var timeout = CommonOptions.Timeout("How long to wait for an answer", 5);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("doctor", Description, Details) { target, server, path, status, parameters, offline, strict, timeout, json };
        command.SetAction((result, cancellationToken) => new DoctorRun(console, new DoctorSettings(
            result.GetValue(target)!, result.GetValue(server), result.GetValue(path)!, result.GetValue(status), result.GetValue(parameters) ?? [], result.GetValue(offline),
            result.GetValue(strict), result.GetValue(timeout), result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }

    private static void CheckTarget(ArgumentResult result)
    {
        var text = result.Tokens[0].Value;
        if (!FastCgiAddress.TryParse(text, out _) && !File.Exists(text))
            result.AddError($"'{text}' is neither a file nor an address. The forms of addresses are 127.0.0.1:9000, host:9000, [::1]:9000, /run/app.sock and unix:@name.");
    }
}

/// <summary>What the command line of <c>doctor</c> says.</summary>
internal sealed record DoctorSettings(string Target, string? Server, string Path, string? StatusPath, string[] Parameters, bool IsOffline, bool IsStrict, TimeSpan Timeout, bool IsJson);
