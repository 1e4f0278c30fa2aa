namespace FastCgi.Tool.Commands.Check;

/// <summary>One thing that a server does or does not. The statement and the section of the specification are in <c>checks.tsv</c>.</summary>
/// <param name="Id">A short name, for <c>--only</c>.</param>
/// <param name="RunAsync">Finds out, and returns details of a pass. Any other verdict is a <see cref="CheckException"/>.</param>
internal sealed record CheckCase(string Id, Func<CheckContext, Task<string>> RunAsync)
{
    private static readonly Dictionary<string, string[]> s_texts = ToolCommand.ReadTable("checks.tsv");

    public string Source => s_texts[Id][1];
    public string Statement => s_texts[Id][2];
}

internal enum CheckVerdict
{
    Pass,
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
