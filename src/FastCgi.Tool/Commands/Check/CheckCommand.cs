using System.CommandLine;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Check;

/// <summary><c>fastcgi check</c>: the specification, statement by statement.</summary>
internal static class CheckCommand
{
    private const string Description = "Checks a server against the FastCGI specification, statement by statement.";

    private const string Details =
        """
        Each check tests a statement of the FastCGI specification 1.0 or of RFC 3875, with its section. 'choice': the specification leaves it to
        the server. The application needs a page that accepts about a hundred GETs, one at a time, and a few POSTs; its status does not matter.
        --hostile adds input that no web server sends: do not use it on a server that others need.

        Examples:
          fastcgi check 127.0.0.1:9000
          fastcgi check /run/php/php-fpm.sock -p SCRIPT_FILENAME=/var/www/index.php --hostile
          fastcgi check /run/app.sock --only abort-begun --only get-values --json

        Exit codes: 0 nothing fails, 1 something fails, 2 usage, 3 no connection.
        """;

    public static Command Create(ToolConsole console)
    {
        var address = CommonOptions.Address();
        var path = new Option<string>("--path")
        {
            Description = "Path and query of the page to request",
            DefaultValueFactory = static _ => "/",
            HelpName = "PATH"
        };
        var parameters = CommonOptions.Parameters();
        var hostile = new Option<bool>("--hostile") { Description = "Send malformed and hostile input too" };
        var only = new Option<string[]>("--only") { Description = "Only this check; repeatable", HelpName = "NAME", Arity = ArgumentArity.ZeroOrMore };
        only.Validators.Add(static result =>
        {
            foreach (var token in result.Tokens.Where(static token => CheckRun.All.All(check => check.Id != token.Value)))
                result.AddError($"There is no check '{token.Value}'. They are {string.Join(", ", CheckRun.All.Select(static check => check.Id))}.");
        });
        var timeout = CommonOptions.Timeout("How long to wait for a reaction", 5);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("check", Description, Details) { address, path, parameters, hostile, only, timeout, json };
        command.SetAction((result, cancellationToken) => new CheckRun(console, new CheckSettings(
            result.GetValue(address)!, result.GetValue(path)!, result.GetValue(parameters) ?? [], result.GetValue(hostile), result.GetValue(only) ?? [],
            result.GetValue(timeout), result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }
}

/// <summary>What the command line of <c>check</c> says.</summary>
internal sealed record CheckSettings(FastCgiAddress Address, string Path, string[] Parameters, bool IsHostile, string[] Only, TimeSpan Timeout, bool IsJson);
