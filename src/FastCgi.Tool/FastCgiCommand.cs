using FastCgi.Tool.Commands.Configuration;
using FastCgi.Tool.Commands.Proxy;
using FastCgi.Tool.Commands.Top;

namespace FastCgi.Tool;

internal static class FastCgiCommand
{
    private const string Description =
        "Sends requests to FastCGI applications, checks servers against the specification, "
        + "and finds configuration problems.";

    /// <summary>Runs one command. Every exception becomes one line and an exit code.</summary>
    public static async Task<int> RunAsync(string[] arguments, ToolConsole console, CancellationToken cancellationToken)
    {
        var code = await RunCommandAsync(arguments, console, cancellationToken);
        await console.EndAsync(cancellationToken);
        return code;
    }

    private static async Task<int> RunCommandAsync(
        string[] arguments, ToolConsole console, CancellationToken cancellationToken)
    {
        var root = new RootCommand(Description)
        {
            new RequestCommand(console), new CheckCommand(console), new DoctorCommand(console),
            new ConfigCommand(console), new ProxyCommand(console), new TopCommand(console),
        };
        foreach (var option in root.Options.OfType<HelpOption>())
            option.Action = new DetailedHelp((HelpAction)option.Action!);
        // @FILE is a request body here, not a file of arguments.
        var result = root.Parse(arguments, new ParserConfiguration { ResponseFileTokenReplacer = null });
        try
        {
            if (result.Action is not ParseErrorAction)
                return await InvokeAsync(result, console, cancellationToken);

            foreach (var error in result.Errors)
                console.Say(PlainText.Line(error.Message));
            var name = result.CommandResult.Command is ToolCommand command ? " " + command.Name : "";
            console.Say($"Run 'fastcgi{name} --help' for all options.");
            return ExitCode.Usage;
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            return console.Fail(ExitCode.Interrupted, "Interrupted.", isJson: false);
        }
        catch (Exception exception)
        {
            while (exception is AggregateException or System.Reflection.TargetInvocationException
                && exception.InnerException is { } inner)
                exception = inner;
            var isJson = result.CommandResult.Command is ToolCommand && result.IsJson();
            return console.Fail((exception as ToolException)?.Code ?? ExitCode.CannotRun, exception.Message, isJson);
        }
    }

    private static async Task<int> InvokeAsync(
        ParseResult result, ToolConsole console, CancellationToken cancellationToken)
    {
        var configuration = new InvocationConfiguration
        {
            Output = console.Out,
            Error = console.Error,
            EnableDefaultExceptionHandler = false,
            ProcessTerminationTimeout = null
        };
        // On another thread: reading files or standard input must not delay Ctrl-C.
        var running = Task.Run(() => result.InvokeAsync(configuration, cancellationToken), CancellationToken.None);
        return result.CommandResult.Command is ToolCommand { HandlesInterruption: true }
            ? await running
            : await running.WaitAsync(cancellationToken);
    }
}
