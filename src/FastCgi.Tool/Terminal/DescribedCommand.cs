using System.CommandLine;
using System.CommandLine.Help;
using System.CommandLine.Invocation;

namespace FastCgi.Tool.Terminal;

/// <summary>A command whose help has more than a line: examples and exit codes.</summary>
internal sealed class DescribedCommand(string name, string description, string details) : Command(name, description)
{
    public string Details { get; } = details;

    /// <summary>Whether it ends itself after Ctrl-C, because it has something to close. Other commands are abandoned.</summary>
    public bool HandlesInterruption { get; set; }
}

/// <summary>Writes the usual help, followed by the details of the command.</summary>
internal sealed class DetailedHelp(HelpAction usual) : SynchronousCommandLineAction
{
    public override int Invoke(ParseResult parseResult)
    {
        var code = usual.Invoke(parseResult);
        if (parseResult.CommandResult.Command is DescribedCommand command)
            parseResult.InvocationConfiguration.Output.WriteLine(command.Details);
        return code;
    }
}
