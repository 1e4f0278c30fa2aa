using System.CommandLine;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Replay;

/// <summary><c>fastcgi replay</c>: sends a recording to an application, and compares the answers.</summary>
internal static class ReplayCommand
{
    private const string Description = "Sends a recording to an application, and compares the answers.";

    private const string Details =
        """
        What the web server of the recording sent is sent again, byte for byte. The answers are compared with those recorded: status, headers
        (without Date and Content-Length), body, standard error, and how each request ended. What came after an answer is sent after an answer again.

        Examples:
          fastcgi replay traffic.jsonl 127.0.0.1:9000
          fastcgi replay traffic.jsonl /run/app.sock --speed 1 --ignore Set-Cookie --ignore ETag

        Exit codes: 0 the answers are the same, 1 they differ, 2 usage, 3 no connection.
        """;

    public static Command Create(ToolConsole console)
    {
        var file = new Argument<string>("FILE") { Description = "What 'fastcgi record' wrote" };
        var address = CommonOptions.Address();
        var speed = new Option<double?>("--speed")
        {
            Description = "Keep the times of the recording, divided by this, and let its connections overlap as they did; without it, one connection after the other, as fast as the answers come",
            HelpName = "FACTOR",
        };
        speed.Validators.Add(static result =>
        {
            if (result.Tokens.Count == 1 && !(double.TryParse(result.Tokens[0].Value, System.Globalization.CultureInfo.InvariantCulture, out var factor) && factor > 0))
                result.AddError($"'{result.Tokens[0].Value}' is not a positive number.");
        });
        var ignore = new Option<string[]>("--ignore") { Description = "A header that is not compared; several may be given", HelpName = "HEADER", Arity = ArgumentArity.ZeroOrMore };
        var timeout = CommonOptions.Timeout("How long to wait for an answer", 30);
        var json = CommonOptions.Json();
        var command = new DescribedCommand("replay", Description, Details) { file, address, speed, ignore, timeout, json };
        command.SetAction((result, cancellationToken) => new Replayer(console, result.GetValue(file)!, result.GetValue(address)!, new ReplaySettings(
            result.GetValue(speed), result.GetValue(ignore) ?? [], result.GetValue(timeout), result.GetValue(json))).RunAsync(cancellationToken));
        return command;
    }
}

/// <summary>How a recording is replayed.</summary>
internal sealed record ReplaySettings(double? Speed, string[] IgnoredHeaders, TimeSpan Timeout, bool IsJson);
