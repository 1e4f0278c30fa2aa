using System.CommandLine;
using System.CommandLine.Parsing;
using FastCgi.Client;

namespace FastCgi.Tool.Commands;

/// <summary>Arguments and options of several commands.</summary>
internal static class CommonOptions
{
    /// <summary>For messages about a wrong address.</summary>
    public const string AddressForms = "The forms of addresses are 127.0.0.1:9000, host:9000, [::1]:9000, /run/app.sock and unix:@name.";

    public static Argument<FastCgiAddress> Address() => new("ADDRESS")
    {
        Description = "Where the application listens: 127.0.0.1:9000, host:9000, [::1]:9000, /run/app.sock or unix:@name, with or without fastcgi://",
        CustomParser = ParseAddress,
    };

    public static Option<FastCgiAddress> AddressOption(string name, string description)
        => new(name) { Description = description, HelpName = "ADDRESS", CustomParser = ParseAddress };

    public static Option<bool> Json() => new("--json") { Description = "Write JSON" };

    public static Option<string[]> Parameters() => new("--param", "-p")
    {
        Description = "Adds or replaces a parameter; repeatable",
        HelpName = "NAME=VALUE",
        Arity = ArgumentArity.ZeroOrMore,
        Validators = { static result => CheckEach(result, '=', "NAME=VALUE") },
    };

    public static Option<TimeSpan> Timeout(string description, double seconds) => new("--timeout")
    {
        Description = description,
        HelpName = "SECONDS",
        DefaultValueFactory = _ => TimeSpan.FromSeconds(seconds),
        CustomParser = ParseSeconds,
    };

    /// <summary>Rejects numbers below 1.</summary>
    public static void CheckPositive(OptionResult result)
    {
        if (result.Tokens is [var token] && (!int.TryParse(token.Value, out var number) || number < 1))
            result.AddError($"'{token.Value}' is not a number of 1 or more.");
    }

    /// <summary>Rejects values without a separator between their two parts.</summary>
    public static void CheckEach(OptionResult result, char separator, string form)
    {
        foreach (var token in result.Tokens)
        {
            if (token.Value.IndexOf(separator, StringComparison.Ordinal) <= 0)
                result.AddError($"'{token.Value}' is not of the form {form}.");
        }
    }

    /// <summary>Splits a value that <see cref="CheckEach"/> has accepted.</summary>
    public static (string Name, string Value) Split(string text, char separator)
    {
        var index = text.IndexOf(separator, StringComparison.Ordinal);
        return (text[..index], text[(index + 1)..]);
    }

    private static FastCgiAddress? ParseAddress(ArgumentResult result)
    {
        if (FastCgiAddress.TryParse(result.Tokens[0].Value, out var address))
            return address;

        result.AddError($"'{result.Tokens[0].Value}' is not an address. {AddressForms}");
        return null;
    }

    private static TimeSpan ParseSeconds(ArgumentResult result)
    {
        if (double.TryParse(result.Tokens[0].Value, System.Globalization.CultureInfo.InvariantCulture, out var seconds) && seconds is > 0 and < 1_000_000)
            return TimeSpan.FromSeconds(seconds);

        result.AddError($"'{result.Tokens[0].Value}' is not a number of seconds.");
        return default;
    }
}
