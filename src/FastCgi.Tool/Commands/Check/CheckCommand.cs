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
        What can be seen from outside is tried, on any server, each statement with where it stands: a section of the specification 1.0, or of
        RFC 3875. 'choice' is what the specification leaves to the server. Of the application only a page is needed that a GET may be sent to
        about a hundred times, one at a time, and a POST a few times; its status does not matter. --hostile adds what no web server sends: do
        not use it on a server that others need.

        Examples:
          fastcgi check 127.0.0.1:9000
          fastcgi check /run/php/php-fpm.sock -p SCRIPT_FILENAME=/var/www/index.php --hostile
          fastcgi check /run/app.sock --only abort-begun --only get-values --json

        Exit codes: 0 nothing fails, 1 something does, 2 usage, 3 no connection.
        """;

    public static Command Create(ToolConsole console)
    {
        var address = CommonOptions.Address();
        var path = new Option<string>("--path") { Description = "Path and query of the page that is asked for", DefaultValueFactory = static _ => "/", HelpName = "PATH" };
        var parameters = CommonOptions.Parameters();
        var hostile = new Option<bool>("--hostile") { Description = "Send rude and broken input too" };
        var only = new Option<string[]>("--only") { Description = "Only this check; several may be given", HelpName = "NAME", Arity = ArgumentArity.ZeroOrMore };
        only.Validators.Add(static result =>
        {
            foreach (var token in result.Tokens.Where(static token => CheckRun.All.All(check => check.Id != token.Value)))
                result.AddError($"There is no check '{token.Value}'. They are {string.Join(", ", CheckRun.All.Select(static check => check.Id))}.");
        });
        var timeout = CommonOptions.Timeout("How long to wait for what should come", 5);
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
