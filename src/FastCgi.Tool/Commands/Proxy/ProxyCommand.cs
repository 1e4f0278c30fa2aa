using System.CommandLine;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary><c>fastcgi proxy</c>: a web server in front of an application, for trying and for debugging.</summary>
internal static class ProxyCommand
{
    private const string Description = "Serves a FastCGI application over HTTP, without configuration.";

    private const string Details =
        """
        It passes the same parameters as nginx, streams both bodies, and writes a line for each request. It is for development, not for production.
        --record writes every byte between the proxy and the application to a file of JSON lines. The file contains passwords and cookies.

        Examples:
          fastcgi proxy 127.0.0.1:9000
          fastcgi proxy /run/app.sock --listen http://localhost:8081 --root wwwroot
          fastcgi proxy /run/php/php-fpm.sock --root /var/www -p SCRIPT_FILENAME=/var/www/index.php
          fastcgi proxy 127.0.0.1:9000 --record traffic.jsonl

        Exit codes: 0 stopped by Ctrl-C, 2 usage, 3 the address cannot be bound, or the file cannot be written.
        """;

    public static Command Create(ToolConsole console)
    {
        var address = CommonOptions.Address();
        var listen = new Option<string[]>("--listen")
        {
            Description = "The HTTP address to listen on; repeatable",
            HelpName = "URL",
            DefaultValueFactory = static _ => ["http://localhost:8080"],
            Validators = { static result => CheckUrls(result) },
        };
        var root = new Option<string>("--root") { Description = "Serve the files of this folder, and use it as DOCUMENT_ROOT", HelpName = "FOLDER" };
        var parameters = CommonOptions.Parameters();
        var timeout = CommonOptions.Timeout("How long the application may take to begin its response; then the client gets a 504", 60);
        var connections = new Option<int?>("--max-connections")
        {
            Description = "The most concurrent connections to the application",
            HelpName = "NUMBER",
            Validators = { static result => CommonOptions.CheckPositive(result) }
        };
        var record = new Option<string>("--record") { Description = "Record the traffic with the application in a file", HelpName = "FILE" };
        var json = CommonOptions.Json();
        var command = new DescribedCommand("proxy", Description, Details)
        {
            address, listen, root, parameters, timeout, connections, record, json,
        };
        command.HandlesInterruption = true;
        command.SetAction((result, cancellationToken) => new ProxyServer(console, new ProxySettings(
            result.GetValue(address)!, result.GetValue(listen)!, result.GetValue(root), result.GetValue(parameters) ?? [], result.GetValue(timeout),
            result.GetValue(connections), result.GetValue(record), result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }

    private static void CheckUrls(System.CommandLine.Parsing.OptionResult result)
    {
        foreach (var token in result.Tokens)
        {
            if (!Uri.TryCreate(token.Value, UriKind.Absolute, out var uri) || uri.Scheme != "http")
                result.AddError($"'{token.Value}' is not an address that begins with http://.");
        }
    }
}

/// <summary>The command line of <c>proxy</c>.</summary>
internal sealed record ProxySettings(
    FastCgiAddress Address, string[] Urls, string? Root, string[] Parameters, TimeSpan Timeout, int? MaxConnections, string? RecordingFile, bool IsJson);
