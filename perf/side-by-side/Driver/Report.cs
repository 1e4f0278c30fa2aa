using System.Globalization;
using System.Text;

namespace SideBySide.Driver;

/// <summary>The combined results of all tables: the figures that have targets, and curves for a chart.</summary>
internal sealed class Report
{
    private readonly StringBuilder _rows = new();
    private readonly Dictionary<string, List<(double X, double Y)>> _curves = [];

    /// <summary>Adds a figure; NaN if it was not measured.</summary>
    public void Add(string figure, double measured, Bound bound, long errors = 0)
    {
        var number = double.IsFinite(measured)
            ? measured.ToString(bound.Format, CultureInfo.InvariantCulture)
            : "not measured";
        if (errors > 0)
            number += string.Create(CultureInfo.InvariantCulture, $", {errors} errors");
        _rows.Append(CultureInfo.InvariantCulture,
            $"| {figure} | {number} | {bound.Describe()} | {(errors > 0 ? "**no**" : bound.Judge(measured))} |\n");
    }

    /// <summary>Adds a point to the curve of a contender, if it was measured.</summary>
    public void AddPoint(string name, double x, double y)
    {
        if (!double.IsFinite(y))
            return;

        if (!_curves.TryGetValue(name, out var curve))
            _curves.Add(name, curve = []);
        curve.Add((x, y));
    }

    /// <summary>The curves of these contenders, as far as they have one.</summary>
    public IEnumerable<(string Name, IReadOnlyList<(double X, double Y)> Points)> Curves(params string[] names) =>
        names.Where(_curves.ContainsKey).Select(name => (name, (IReadOnlyList<(double X, double Y)>)_curves[name]));

    /// <summary>The table of targets.</summary>
    public string Format(Settings settings) => string.Create(CultureInfo.InvariantCulture, $"""
        ### Targets

        {settings.Machine}. Medians of {settings.Rounds} rounds.

        | figure | measured | target | met? |
        |---|--:|--:|---|
        {_rows}

        """);
}
