using System.CommandLine.Parsing;

namespace FastCgi.Tool.Commands;

/// <summary>A command. Its options are declared in its constructor, and read by name.</summary>
internal abstract class ToolCommand : Command
{
    protected const string AddressForms =
        "Valid addresses are 127.0.0.1:9000, host:9000, [::1]:9000, /run/app.sock and unix:@name.";

    protected ToolCommand(ToolConsole console, string name, string description)
        : base(name, description)
    {
        Terminal = console;
        SetAction(RunAsync);
    }

    /// <summary>The examples and exit codes that follow the usual help.</summary>
    public string Details => ReadResource("help.txt").Split("# ")
        .First(text => text.StartsWith(Name + "\n", StringComparison.Ordinal))[Name.Length..].Trim();

    /// <summary>Whether the command ends itself after Ctrl-C. Other commands are abandoned.</summary>
    public bool HandlesInterruption { get; protected init; }
    protected ToolConsole Terminal { get; }

    protected abstract Task<int> RunAsync(ParseResult arguments, CancellationToken cancellationToken);

    public static string ReadResource(string name)
    {
        using var reader = new StreamReader(typeof(ToolCommand).Assembly.GetManifestResourceStream(name)!);
        return reader.ReadToEnd();
    }

    protected void AddAddress() => Add(new Argument<FastCgiAddress>("ADDRESS")
    {
        Description =
            "Where the application listens: 127.0.0.1:9000, host:9000, [::1]:9000, /run/app.sock or unix:@name, "
            + "with or without fastcgi://",
        CustomParser = ParseAddress,
    });

    protected void AddArgument(
        string name, string description, Func<string, string?> check, bool isOptional = false)
        => Add(new Argument<string>(name)
        {
            Description = description,
            Arity = isOptional ? ArgumentArity.ZeroOrOne : ArgumentArity.ExactlyOne,
            Validators = { result => CheckTokens(result, check) },
        });

    protected void AddFlag(string name, string description, params string[] aliases)
        => Add(new Option<bool>(name, aliases) { Description = description });

    protected void AddText(string name, string value, string description, Func<string, string?>? check = null,
        params string[] aliases)
        => AddOption(new Option<string>(name, aliases) { Description = description, HelpName = value }, check);

    protected void AddTexts(string name, string value, string description, Func<string, string?> check,
        params string[] aliases)
    {
        var option = new Option<string[]>(name, aliases) { Description = description, HelpName = value };
        option.Arity = ArgumentArity.ZeroOrMore;
        AddOption(option, check);
    }

    protected void AddNumber(string name, string description)
        => AddOption(new Option<int?>(name) { Description = description, HelpName = "NUMBER" },
            static text => int.TryParse(text, out var number) && number >= 1
                ? null
                : $"'{text}' is not a positive integer.");

    protected void AddChoice<T>(string name, string description, T usual)
        where T : struct, Enum
        => AddOption(new Option<T>(name) { Description = description, DefaultValueFactory = _ => usual },
            static text => Enum.TryParse<T>(text, ignoreCase: true, out var value) && Enum.IsDefined(value)
                ? null
                : $"'{text}' is unknown.");

    protected void AddParameters()
        => AddTexts("--param", "NAME=VALUE", "Add or replace a parameter; repeatable",
            static text => CheckPair(text, '=', "NAME=VALUE"), "-p");

    protected void AddPath(string description = "Path and query of the page to request", string usual = "/")
    {
        var option = new Option<string>("--path") { Description = description, HelpName = "PATH" };
        option.DefaultValueFactory = _ => usual;
        AddOption(option, CheckPresence);
    }

    protected void AddTimeoutAndJson(string description, double seconds)
    {
        Add(new Option<TimeSpan>("--timeout")
        {
            Description = description,
            HelpName = "SECONDS",
            DefaultValueFactory = _ => TimeSpan.FromSeconds(seconds),
            CustomParser = ParseSeconds,
        });
        AddFlag("--json", "Write JSON");
    }

    protected static string? CheckPair(string text, char separator, string form)
        => text.IndexOf(separator, StringComparison.Ordinal) > 0 ? null : $"'{text}' does not have the form {form}.";

    protected static string? CheckPresence(string text) => text.Length > 0 ? null : "The value of an option is empty.";

    private static void CheckTokens(SymbolResult result, Func<string, string?>? check)
    {
        foreach (var error in result.Tokens.Select(token => check?.Invoke(token.Value)).OfType<string>())
            result.AddError(error);
    }

    private void AddOption<T>(Option<T> option, Func<string, string?>? check)
    {
        option.Validators.Add(result => CheckTokens(result, check));
        Add(option);
    }

    protected static FastCgiAddress? ParseAddress(ArgumentResult result)
    {
        if (FastCgiAddress.TryParse(result.Tokens[0].Value, out var address))
            return address;

        result.AddError($"'{result.Tokens[0].Value}' is not an address. {AddressForms}");
        return null;
    }

    private static TimeSpan ParseSeconds(ArgumentResult result)
    {
        if (double.TryParse(result.Tokens[0].Value, CultureInfo.InvariantCulture, out var seconds)
            && seconds is >= 0.001 and < 1_000_000)
            return TimeSpan.FromSeconds(seconds);

        result.AddError($"'{result.Tokens[0].Value}' is not a number of seconds.");
        return default;
    }
}

internal static class ToolArguments
{
    public static FastCgiAddress GetAddress(this ParseResult arguments)
        => arguments.GetValue<FastCgiAddress>("ADDRESS")!;

    public static bool Has(this ParseResult arguments, string name) => arguments.GetValue<bool>(name);
    public static string? GetText(this ParseResult arguments, string name) => arguments.GetValue<string>(name);
    public static bool IsJson(this ParseResult arguments) => arguments.Has("--json");
    public static TimeSpan GetTimeout(this ParseResult arguments) => arguments.GetValue<TimeSpan>("--timeout");

    public static (string Name, string Value)[] GetParameters(this ParseResult arguments)
        => arguments.GetPairs("--param", '=');

    public static (string Name, string Value)[] GetPairs(this ParseResult arguments, string name, char separator)
        => [.. (arguments.GetValue<string[]>(name) ?? []).Select(text => text.Split(separator, 2))
            .Select(static pair => (pair[0], pair[1]))];
}

/// <summary>Writes the usual help, followed by the details of the command.</summary>
internal sealed class DetailedHelp(HelpAction usual) : SynchronousCommandLineAction
{
    public override int Invoke(ParseResult parseResult)
    {
        // Below this width, wrapping would not terminate.
        usual.MaxWidth = Math.Max(usual.MaxWidth, 40);
        var code = usual.Invoke(parseResult);
        if (parseResult.CommandResult.Command is ToolCommand command)
            parseResult.InvocationConfiguration.Output.WriteLine(command.Details);
        return code;
    }
}
