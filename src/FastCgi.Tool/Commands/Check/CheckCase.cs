namespace FastCgi.Tool.Commands.Check;

/// <summary>A check. Its statement and the section of the specification are in <c>checks.tsv</c>.</summary>
/// <param name="Id">A short name, for <c>--only</c>.</param>
/// <param name="RunAsync">Returns details of a pass; any other verdict is a <see cref="CheckException"/>.</param>
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

    /// <summary>The specification allows several behaviors; the detail describes that of this server.</summary>
    Choice,

    /// <summary>The check could not run.</summary>
    Skipped,
}

/// <summary>Ends a check with a verdict other than a pass.</summary>
internal sealed class CheckException(CheckVerdict verdict, string detail) : Exception(detail)
{
    public CheckVerdict Verdict { get; } = verdict;

    public static CheckException Fail(string detail) => new(CheckVerdict.Fail, detail);
    public static CheckException Choice(string detail) => new(CheckVerdict.Choice, detail);
    public static CheckException Skipped(string detail) => new(CheckVerdict.Skipped, detail);
}
