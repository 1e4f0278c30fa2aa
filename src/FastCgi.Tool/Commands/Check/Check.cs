namespace FastCgi.Tool.Commands.Check;

/// <summary>A statement, its source, and the script that shows whether it is true for a server.</summary>
/// <param name="Source">Sections of the FastCGI specification, another one, or <c>hostile</c>.</param>
internal sealed record Check(string Id, string Source, string Statement, Func<CheckedServer, Step[]> Script);

/// <summary>Sends, or examines what arrives.</summary>
/// <returns>
/// Details, or <see langword="null"/> if there are no new ones. A fault is a <see cref="CheckException"/>.
/// </returns>
internal delegate Task<string?> Step(CheckRun run);

/// <summary>Ends a script before its last step.</summary>
internal sealed class CheckException(string verdict, string detail) : Exception(detail)
{
    public string Verdict { get; } = verdict;

    public static CheckException Pass(string detail) => new("pass", detail);
    public static CheckException Fail(string detail) => new("fail", detail);
    public static CheckException Skipped(string detail) => new("skipped", detail);
}
