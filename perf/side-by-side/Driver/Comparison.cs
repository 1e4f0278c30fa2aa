using System.Globalization;
using System.Text;

namespace SideBySide.Driver;

/// <summary>A contender: its name, and how to measure it once.</summary>
internal sealed record Contender(string Name, Func<Sample> Measure);

/// <summary>A table: contenders that do the same work, measured in turn, relative to the first.</summary>
internal sealed class Comparison(string title, params Contender[] contenders)
{
    private static readonly string[] s_columns =
        [
            "CPU-µs/request", "ratio", "with nginx", "ratio", "requests/s", "ratio", "p50 ms", "p99 ms", "ratio",
            "memory", "errors",
        ];

    public string Title => title;

    /// <summary>The targets for figures in this table.</summary>
    public IReadOnlyList<Target> Targets { get; init; } = [];

    /// <summary>How often a contender is measured in a round, for very short measurements.</summary>
    public int Repeat { get; init; } = 1;

    /// <summary>The maximum number of rounds, for figures that hardly vary.</summary>
    public int MostRounds { get; init; } = int.MaxValue;

    /// <summary>The position of this table on the horizontal axis of the chart, if it is in the chart.</summary>
    public double Place { get; init; } = double.NaN;

    /// <summary>Whether a quick run needs this table.</summary>
    public bool HasTarget => Targets.Count > 0;

    /// <summary>
    /// Measures each contender in each round, adds the targets to the report, and formats the table of medians.
    /// </summary>
    public string Run(Settings settings, Report report)
    {
        var wanted = contenders.Where(
            contender => !settings.IsQuick
                || Targets.Any(target => target.Of == contender.Name || target.Against == contender.Name)).ToArray();
        var samples = wanted.ToDictionary(static contender => contender.Name, static _ => new List<Sample>());
        try
        {
            for (var round = 0; round < Math.Min(MostRounds, settings.Rounds) * Repeat; round++)
            {
                foreach (var contender in wanted)
                {
                    var sample = contender.Measure();
                    samples[contender.Name].Add(sample);
                    var cells = Cells([sample], [samples[wanted[0].Name][^1]]);
                    Console.Error.WriteLine($"{title} | {contender.Name} | {string.Join(" | ", cells)}");
                }
            }
        }
        catch (Exception e)
        {
            // Continue with the other tables.
            Console.Error.WriteLine($"{title}: {e}");
            foreach (var target in Targets)
                report.Add(target.Figure, double.NaN, target.Bound);
            return $"### {title}\n\nNot measured: {e.Message}\n\n";
        }

        foreach (var target in Targets)
            report.Add(
                target.Figure,
                target.Read(name => samples[name]),
                target.Bound,
                samples[target.Of].Sum(static sample => sample.Errors));
        if (double.IsFinite(Place))
        {
            foreach (var (name, measured) in samples)
                report.AddPoint(name, Place, Sample.Median(measured).ServerCpu);
        }

        return Format([.. wanted.Select(contender => (contender.Name, samples[contender.Name]))]);
    }

    /// <summary>The table, without empty columns.</summary>
    private string Format((string Name, List<Sample> Samples)[] measured)
    {
        var rows = measured.Select(of => Cells(of.Samples, measured[0].Samples).ToArray()).ToArray();
        var columns = Enumerable.Range(0, s_columns.Length).Where(i => rows.Any(row => row[i].Length > 0)).ToArray();
        var table = new StringBuilder();
        table.Append(
            CultureInfo.InvariantCulture,
            $"### {title}\n\n| | {string.Join(" | ", columns.Select(static i => s_columns[i]))} |\n|---|");
        table.Insert(table.Length, "--:|", columns.Length).Append('\n');
        for (var i = 0; i < rows.Length; i++)
            table.Append(
                CultureInfo.InvariantCulture,
                $"| {measured[i].Name} | {string.Join(" | ", columns.Select(column => rows[i][column]))} |\n");
        return table.Append('\n').ToString();
    }

    /// <summary>Medians, and medians of the ratios to the first contender in the same round.</summary>
    private static IEnumerable<string> Cells(List<Sample> samples, List<Sample> first)
    {
        var sample = Sample.Median(samples);
        string Ratio(Func<Sample, double> quantity) =>
            Number(Sample.Middle(samples.Zip(first, (of, against) => quantity(of) / quantity(against))), "0.00");

        yield return Number(sample.ServerCpu, "0.00");
        yield return Ratio(static sample => sample.ServerCpu);
        yield return Number(sample.TotalCpu, "0.0");
        yield return Ratio(static sample => sample.TotalCpu);
        yield return Number(sample.Rate, sample.Rate < 10 ? "0.00" : "#,0");
        yield return Ratio(static sample => sample.Rate);
        yield return Number(sample.P50 / 1000, "0.00");
        yield return Number(sample.P99 / 1000, "0.00");
        yield return Ratio(static sample => sample.P99);
        yield return Number(sample.Memory, "#,0");
        yield return sample.Errors.ToString(CultureInfo.InvariantCulture);
    }

    private static string Number(double value, string format) =>
        double.IsFinite(value) ? value.ToString(format, CultureInfo.InvariantCulture) : "";
}
