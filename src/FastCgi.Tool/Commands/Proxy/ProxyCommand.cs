using System.CommandLine;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Proxy;

/// <summary><c>fastcgi proxy</c>: a web server in front of an application, for trying and for debugging.</summary>
internal static class ProxyCommand
{
    private const string Description = "Is a small web server in front of a FastCGI application, with no configuration.";

    private const string Details =
        """
        What comes in over HTTP goes on as FastCGI, with the parameters of nginx, and both bodies stream. It writes a line for each request.
        It is for the desk, not for production.

        Examples:
          fastcgi proxy 127.0.0.1:9000
          fastcgi proxy /run/app.sock --listen http://localhost:8081 --root wwwroot
          fastcgi proxy /run/php/php-fpm.sock --root /var/www -p SCRIPT_FILENAME=/var/www/index.php

        Exit codes: 0 ended by Ctrl-C, 2 usage, 3 the address of --listen cannot be used.
        """;

    public static Command Create(ToolConsole console)
    {
        var address = CommonOptions.Address();
        var listen = new Option<string[]>("--listen")
        {
            Description = "The HTTP address to listen on; several may be given",
            HelpName = "URL",
            DefaultValueFactory = static _ => ["http://localhost:8080"],
            Validators = { static result => CheckUrls(result) },
        };
        var root = new Option<string>("--root") { Description = "Serve the files of this folder, and go on to the application for the rest; it is DOCUMENT_ROOT too", HelpName = "FOLDER" };
        var parameters = CommonOptions.Parameters();
        var timeout = CommonOptions.Timeout("How long the application may take until its answer begins; then the client gets a 504", 60);
        var connections = new Option<int?>("--max-connections") { Description = "The most connections to the application at a time", HelpName = "NUMBER", Validators = { static result => CheckPositive(result) } };
        var json = CommonOptions.Json();
        var command = new DescribedCommand("proxy", Description, Details) { address, listen, root, parameters, timeout, connections, json };
        command.SetAction((result, cancellationToken) => new ProxyServer(console, new ProxySettings(
            result.GetValue(address)!, result.GetValue(listen)!, result.GetValue(root), result.GetValue(parameters) ?? [], result.GetValue(timeout),
            result.GetValue(connections), result.GetValue(json))).RunAsync(cancellationToken));
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

    private static void CheckPositive(System.CommandLine.Parsing.OptionResult result)
    {
        if (result.Tokens.Count == 1 && (!int.TryParse(result.Tokens[0].Value, out var number) || number < 1))
            result.AddError($"'{result.Tokens[0].Value}' is not a number of connections.");
    }
}

/// <summary>What the command line of <c>proxy</c> says.</summary>
internal sealed record ProxySettings(FastCgiAddress Address, string[] Urls, string? Root, string[] Parameters, TimeSpan Timeout, int? MaxConnections, bool IsJson);
