using System.CommandLine;
using System.CommandLine.Parsing;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary><c>fastcgi doctor</c>: what is wrong between a web server and an application.</summary>
internal static class DoctorCommand
{
    private const string Description = "Finds problems between a web server and a FastCGI application.";

    private const string Details =
        """
        For an address, it checks the socket, who may connect, what answers there, and the process. For a configuration (nginx, or the output of
        'nginx -T'; Apache; lighttpd; HAProxy), it first lets the web server check it, and then checks each place that passes requests to FastCGI,
        and the address there. It sends one GET to the application, and with --status another one. Without an argument, it checks the web servers
        of this machine.

        A problem fails now, or as soon as it is needed. A note depends on the application. Parts that are not understood are listed.

        Examples:
          fastcgi doctor
          fastcgi doctor /run/app/app.sock
          fastcgi doctor /etc/apache2/sites-enabled/app.conf --no-connect --json
          fastcgi doctor /etc/haproxy/haproxy.cfg --status /fastcgi-status

        Exit codes: 0 no problem, 1 problems (or, with --strict, notes), 2 usage, 3 it cannot be checked.
        """;

    public static Command Create(ToolConsole console)
    {
        var target = new Argument<string>("ADDRESS|CONFIG-FILE")
        {
            Description = "Where the application listens, or a configuration file of a web server",
            Arity = ArgumentArity.ZeroOrOne,
            Validators = { static result => CheckTarget(result) },
        };
        var server = new Option<string>("--server") { Description = "The kind of web server, if it is not recognized", HelpName = "NAME" };
        server.AcceptOnlyFromAmong([.. WebServer.All.Select(static known => known.Name)]);
        var path = new Option<string>("--path")
        {
            Description = "Path and query of the page to request",
            DefaultValueFactory = static _ => "/",
            HelpName = "PATH"
        };
        var status = new Option<string>("--status")
        {
            Description = "Read the status of the application too, at the path of MapFastCgiStatus()",
            HelpName = "PATH"
        };
        var parameters = CommonOptions.Parameters();
        var offline = new Option<bool>("--no-connect") { Description = "Only read the configuration: run and send nothing" };
        var strict = new Option<bool>("--strict") { Description = "Notes are exit code 1 too" };
        var timeout = CommonOptions.Timeout("How long to wait for an answer", 5);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("doctor", Description, Details) { target, server, path, status, parameters, offline, strict, timeout, json };
        command.SetAction((result, cancellationToken) => new DoctorRun(console, new DoctorSettings(
            result.GetValue(target), result.GetValue(server), result.GetValue(path)!, result.GetValue(status), result.GetValue(parameters) ?? [],
                result.GetValue(offline),
            result.GetValue(strict), result.GetValue(timeout), result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }

    private static void CheckTarget(ArgumentResult result)
    {
        var text = result.Tokens is [var token] ? token.Value : null;
        if (text is not null && !FastCgiAddress.TryParse(text, out _) && !File.Exists(text))
            result.AddError($"'{text}' is neither a file nor an address. {CommonOptions.AddressForms}");
    }
}

/// <summary>The command line of <c>doctor</c>.</summary>
internal sealed record DoctorSettings(
    string? Target, string? Server, string Path, string? StatusPath, string[] Parameters, bool IsOffline, bool IsStrict, TimeSpan Timeout, bool IsJson);
