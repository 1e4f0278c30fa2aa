using System.Globalization;
using System.Text;

namespace History.Driver;

/// <summary>The result of an experiment: its text, its targets, and the line that perf/README.md quotes.</summary>
/// <param name="Name">The name, for --only and for its image.</param>
/// <param name="Title">The heading.</param>
/// <param name="Source">Where the record comes from, what was published, and with which command.</param>
internal sealed record Section(string Name, string Title, string Source)
{
    private readonly StringBuilder _text = new();
    private readonly List<string> _checks = [];

    /// <summary>The line for perf/README.md.</summary>
    public string Line { get; set; } = "";

    /// <summary>Why the experiment could not be completed.</summary>
    public string? Failure { get; set; }

    /// <summary>The number of bounds met, and their total.</summary>
    public (int Beaten, int All) Score { get; private set; }

    public void Add(string text) => _text.Append(text).Append("\n\n");

    /// <summary>Adds a table. The first column is text, the others are numbers.</summary>
    public void AddTable(string[] columns, IEnumerable<string[]> rows)
    {
        _text.Append(CultureInfo.InvariantCulture, $"| {string.Join(" | ", columns)} |\n|---|");
        _text.Insert(_text.Length, "--:|", columns.Length - 1).Append('\n');
        foreach (var row in rows)
            _text.Append(CultureInfo.InvariantCulture, $"| {string.Join(" | ", row)} |\n");
        _text.Append('\n');
    }

    public void AtLeast(string what, double measured, double target)
        => Check(what, "≥ ", measured, target, measured >= target);

    public void AtMost(string what, double measured, double target)
        => Check(what, "≤ ", measured, target, measured <= target);

    /// <summary>The rows of the table of all records.</summary>
    public IEnumerable<string> Rows
        => Failure is null ? _checks : [.. _checks, $"| {Name} | all of it | | | **not measured**: {Failure} |\n"];

    public override string ToString()
    {
        var failure = Failure is null ? "" : $"**Not measured to the end: {Failure}**\n\n";
        return $"## {Title}\n\n{Source} Run: `perf/history/run.sh --only {Name}`.\n\n{failure}{_text}";
    }

    private void Check(string what, string relation, double measured, double target, bool holds)
    {
        Score = (Score.Beaten + (holds ? 1 : 0), Score.All + 1);
        var result = holds ? "beaten" : target == 0 ? "**missed**" : $"**missed by {Figures.Number(Math.Abs(measured - target) / target * 100)} %**";
        _checks.Add(
            $"| {Name} | {what} | {relation}{Figures.Number(target)} | {Figures.Number(measured)} | {result} |\n");
    }
}
