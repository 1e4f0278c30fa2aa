using System.Globalization;
using System.Text;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>
/// The printed and written document: a table of all targets, then all sections; and the lines that perf/README.md
/// quotes.
/// </summary>
internal static class ResultDocument
{
    private const string Start =
        "<!-- written by perf/history/run.sh -->", End = "<!-- end of what perf/history/run.sh writes -->";

    public static string Make(Settings settings, IReadOnlyList<Section> sections, TimeSpan duration)
    {
        var text = new StringBuilder("# Published records\n\n");
        text.Append("What `perf/history/run.sh` prints: each published measurement of a FastCGI or .NET server that we know of, repeated on one machine " +
            "alongside this server. " +
            "Published figures were measured on other machines; only ratios within one run compare. Load generator, nginx and servers share the processors, " +
            "so requests/s include all three.\n\n");
        text.Append(
            CultureInfo.InvariantCulture,
            $"{settings.Machine}. {DateTime.UtcNow:yyyy-MM-dd}, {duration.TotalMinutes:0} minutes.");
        text.Append(
            settings.IsQuick
                ? " **A quick run** (`--quick`): small counts, to try the script; not a result to rely on.\n\n"
                : "\n\n");
        var (beaten, all) = (
            sections.Sum(static section => section.Score.Beaten), sections.Sum(static section => section.Score.All));
        text.Append(
            CultureInfo.InvariantCulture,
            $"{beaten} of {all} beaten.\n\n| record | what | target | measured | result |\n|---|---|--:|--:|---|\n");
        foreach (var row in sections.SelectMany(static section => section.Rows))
            text.Append(row);
        text.Append('\n');
        foreach (var section in sections)
            text.Append(section);
        return text.ToString().TrimEnd('\n') + "\n";
    }

    /// <summary>Replaces the table of the lines in perf/README.md.</summary>
    public static void Quote(string readme, Settings settings, IReadOnlyList<Section> sections)
    {
        var text = File.ReadAllText(readme);
        var (start, end) = (text.IndexOf(Start, StringComparison.Ordinal), text.IndexOf(End, StringComparison.Ordinal));
        if (start < 0 || end < start)
            throw new InvalidOperationException($"{readme} has no place for the records.");

        var lines = new StringBuilder($"{Start}\n{(settings.IsQuick ? "These figures are from a quick run.\n" : "")}\n| record | result | " +
            $"`perf/history/run.sh` |\n|---|---|---|\n");
        foreach (var section in sections)
            lines.Append(CultureInfo.InvariantCulture, $"| {section.Title} | {(section.Line.Length > 0 ? section.Line : "not measured")} | `--only " +
                $"{section.Name}` |\n");
        File.WriteAllText(readme, text[..start] + lines + "\n" + text[end..]);
    }
}
