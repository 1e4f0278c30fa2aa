using System.CommandLine;
using System.Net;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Recording;

/// <summary><c>fastcgi record</c>: keeps what a web server and an application say to each other.</summary>
internal static class RecordCommand
{
    private const string Description = "Stands between a web server and an application and writes every byte of both to a file.";

    private const string Details =
        """
        The web server is pointed at --listen. Each byte goes into a file of JSON lines, with its time. The file has whatever the requests have,
        passwords and cookies too: only its owner can read it.

        Example:
          fastcgi record --listen 127.0.0.1:9001 --to 127.0.0.1:9000 -o traffic.jsonl

        Exit codes: 0 ended by Ctrl-C, 2 usage, 3 the address of --listen cannot be used.
        """;

    public static Command Create(ToolConsole console)
    {
        var listen = CommonOptions.AddressOption("--listen", "Where the web server connects");
        listen.Validators.Add(static result =>
        {
            if (result.GetValueOrDefault<FastCgiAddress>() is { EndPoint: DnsEndPoint })
                result.AddError("--listen takes an IP address or a unix socket, not a name.");
        });
        var to = CommonOptions.AddressOption("--to", "Where the application listens");
        var output = new Option<string>("--output", "-o") { Description = "The file to write; what it had is lost", HelpName = "FILE", Required = true };
        var json = CommonOptions.Json();
        var command = new DescribedCommand("record", Description, Details) { listen, to, output, json };
        command.SetAction((result, cancellationToken) => new Recorder(
            console, result.GetValue(listen)!, result.GetValue(to)!, result.GetValue(output)!, result.GetValue(json)).RunAsync(cancellationToken));
        return command;
    }
}
