using System.CommandLine;
using FastCgi.Client;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Top;

/// <summary><c>fastcgi top</c>: what a server does, live.</summary>
internal static class TopCommand
{
    private const string Description = "Shows what a server does, live: rates, latencies, active requests, and recommendations.";

    private const string Details =
        """
        It reads the status of FastCgi.AspNetCore at the path of MapFastCgiStatus(): over FastCGI, or over http from Kestrel. Outside Development,
        the status needs AllowAnonymous(). Rates are those between two samples; with --once, those of the last minute.

        Examples:
          fastcgi top http://127.0.0.1:9100/fastcgi-status
          fastcgi top /run/app/app.sock --path /fastcgi-status --sort out
          fastcgi top 127.0.0.1:9000 --json --once

        Exit codes: 0 it was shown, 1 there is no status, 2 usage, 3 no connection.
        """;

    public static Command Create(ToolConsole console)
    {
        var target = new Argument<string>("ADDRESS|URL") { Description = "Where the application listens, or the http URL of its status" };
        target.Validators.Add(static result =>
        {
            var text = result.Tokens[0].Value;
            if (!IsUrl(text) && !FastCgiAddress.TryParse(text, out _))
                result.AddError($"'{text}' is neither an http URL nor an address. {CommonOptions.AddressForms}");
        });
        var path = new Option<string>("--path")
        {
            Description = "The path of the status at a FastCGI address",
            DefaultValueFactory = static _ => "/fastcgi-status",
            HelpName = "PATH"
        };
        var sort = new Option<TopOrder>("--sort")
        {
            Description = "The order of the requests; the largest first",
            DefaultValueFactory = static _ => TopOrder.Age
        };
        var once = new Option<bool>("--once") { Description = "Show it once" };
        var timeout = CommonOptions.Timeout("How long a response may take", 5);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("top", Description, Details) { target, path, sort, once, timeout, json };
        command.HandlesInterruption = true;
        command.SetAction((result, cancellationToken) => new TopRun(console, new TopSettings(
            result.GetValue(target)!, result.GetValue(path)!, result.GetValue(sort), result.GetValue(once), result.GetValue(timeout),
                result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }

    public static bool IsUrl(string text) => Uri.TryCreate(text, UriKind.Absolute, out var uri) && uri.Scheme is "http" or "https";
}

/// <summary>How requests are sorted.</summary>
internal enum TopOrder
{
    Age,
    In,
    Out,
    State,
    Client,
    Path,
}

/// <summary>The command line of <c>top</c>.</summary>
internal sealed record TopSettings(string Target, string Path, TopOrder Order, bool IsOnce, TimeSpan Timeout, bool IsJson);
