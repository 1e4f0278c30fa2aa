namespace FastCgi.Tool.Commands.Check;

/// <summary>One thing that a server does or does not.</summary>
/// <param name="Id">A short name, for <c>--only</c>.</param>
/// <param name="Statement">What should be, in the words of the specification as far as they say it.</param>
/// <param name="Source">The section of the specification.</param>
/// <param name="RunAsync">Finds out, and returns details of a pass. Any other verdict is a <see cref="CheckException"/>.</param>
internal sealed record CheckCase(string Id, string Statement, string Source, Func<CheckContext, Task<string>> RunAsync);

/// <summary>What was found.</summary>
internal enum CheckVerdict
{
    /// <summary>As it should be.</summary>
    Pass,

    /// <summary>Not as it should be.</summary>
    Fail,

    /// <summary>The specification leaves it to the server; the detail says what this one does.</summary>
    Choice,

    /// <summary>It could not be found out here.</summary>
    Skipped,
}

/// <summary>Ends a check with another verdict than a pass.</summary>
internal sealed class CheckException(CheckVerdict verdict, string detail) : Exception(detail)
{
    public CheckVerdict Verdict { get; } = verdict;

    public static CheckException Fail(string detail) => new(CheckVerdict.Fail, detail);

    public static CheckException Choice(string detail) => new(CheckVerdict.Choice, detail);

    public static CheckException Skipped(string detail) => new(CheckVerdict.Skipped, detail);
}
