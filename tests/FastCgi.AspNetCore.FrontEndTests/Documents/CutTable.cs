using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FrontEndTests.Documents;

/// <summary>The table in <c>docs/decisions/cut-responses.md</c>.</summary>
internal sealed partial class CutTable
{
    private readonly string[] _columns;
    private readonly List<string[]> _rows;

    private CutTable(string[] columns, List<string[]> rows)
    {
        _columns = columns;
        _rows = rows;
    }

    public static CutTable Read()
    {
        var lines = File.ReadAllLines(Path.Combine(AppContext.BaseDirectory, "Documents", "cut-responses.md"));
        var rows = lines.SkipWhile(static line => !line.StartsWith("| Web server |", StringComparison.Ordinal))
            .TakeWhile(static line => line.StartsWith('|'))
            .Select(static line => line.Split('|', StringSplitOptions.TrimEntries)[1..^1])
            .ToList();
        return new CutTable(rows[0], rows[2..]);
    }

    /// <summary>The words in the first column that apply to a setup.</summary>
    public static string[] GetTags(FrontEndSetup setup) =>
    [
        setup.Kind switch
        {
            FrontEndKind.Nginx or FrontEndKind.Lighttpd => setup.Kind.ToString().ToLowerInvariant(),
            FrontEndKind.HaProxy => "HAProxy",
            _ => setup.Kind.ToString(),
        },
        setup.UsesTls ? "HTTP/2" : "HTTP/1.1",
        setup.UsesUnixSocket ? "Unix" : "TCP",
        setup.BuffersResponses ? "buffered" : "streamed",
        setup.KeepsConnections ? "kept" : "not kept",
    ];

    /// <summary>Gets what clients see. Exactly one row must apply to each setup.</summary>
    public string[] Get(FrontEndSetup setup, string column)
    {
        var tags = GetTags(setup);
        var row = Assert.Single(_rows, row => IsOfInstalledVersion(setup.Kind, row[0])
            && VersionRange().Replace(row[0], "").Split(", ").All(tags.Contains));
        return row[Array.IndexOf(_columns, column)].Split(" or ");
    }

    private static bool IsOfInstalledVersion(FrontEndKind kind, string row)
        => VersionRange().Match(row) is not { Success: true } range
            || InstalledVersions.IsBefore(kind, range.Groups["version"].Value) == (range.Groups["sign"].Value == "<");

    [GeneratedRegex(" (?<sign>[<≥]) (?<version>[0-9.]+)")]
    private static partial Regex VersionRange();
}
