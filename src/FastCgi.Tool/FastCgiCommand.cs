using System.CommandLine;
using System.CommandLine.Help;
using System.CommandLine.Invocation;
using System.CommandLine.Parsing;
using FastCgi.Tool.Commands.Check;
using FastCgi.Tool.Commands.Configuration;
using FastCgi.Tool.Commands.Doctor;
using FastCgi.Tool.Commands.Proxy;
using FastCgi.Tool.Commands.Recording;
using FastCgi.Tool.Commands.Replay;
using FastCgi.Tool.Commands.Request;
using FastCgi.Tool.Commands.Top;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool;

/// <summary>The root: what every command has in common.</summary>
internal static class FastCgiCommand
{
    /// <summary>Runs one command.</summary>
    /// <returns>One of <see cref="ExitCode"/>.</returns>
    public static async Task<int> RunAsync(string[] arguments, ToolConsole console, CancellationToken cancellationToken)
    {
        var root = new RootCommand("Sends requests to FastCGI applications, checks them against the specification, and shows what goes over the wire.")
        {
            RequestCommand.Create(console), CheckCommand.Create(console), ProxyCommand.Create(console), RecordCommand.Create(console), ReplayCommand.Create(console),
            DoctorCommand.Create(console), ConfigCommand.Create(console), TopCommand.Create(console),
        };
        foreach (var option in root.Options.OfType<HelpOption>())
            option.Action = new DetailedHelp((HelpAction)option.Action!);
        var result = root.Parse(arguments, new ParserConfiguration
        {
            // @FILE is a body here, not a file of arguments.
            ResponseFileTokenReplacer = null,
        });
        if (result.Action is ParseErrorAction)
        {
            foreach (var error in result.Errors)
                await console.Error.WriteLineAsync(error.Message);
            await console.Error.WriteLineAsync($"'{GetName(result)} --help' tells more.");
            return ExitCode.Usage;
        }

        try
        {
            var configuration = new InvocationConfiguration { Output = console.Out, Error = console.Error, EnableDefaultExceptionHandler = false, ProcessTerminationTimeout = null };
            var code = await result.InvokeAsync(configuration, cancellationToken);
            await console.Out.FlushAsync(CancellationToken.None);
            return code;
        }
        catch (IOException exception)
        {
            // Where the output goes is full, or gone.
            return console.Fail(ExitCode.Usage, exception.Message, isJson: false);
        }
    }

    private static string GetName(ParseResult result)
    {
        var names = new List<string>();
        for (var command = result.CommandResult; command is not null; command = command.Parent as CommandResult)
            names.Insert(0, command.Command is RootCommand ? "fastcgi" : command.Command.Name);
        return string.Join(' ', names);
    }
}
