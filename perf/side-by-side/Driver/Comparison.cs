using System.Globalization;
using System.Text;

namespace SideBySide.Driver;

/// <summary>One of the things that are compared: its name, and how to measure it once.</summary>
internal sealed record Contender(string Name, Func<Sample> Measure);

/// <summary>A table: contenders that do the same work, measured in turns, against the first of them.</summary>
internal sealed class Comparison(string title, params Contender[] contenders)
{
    public string Title => title;

    /// <summary>Measures each contender in each round, and makes the table of the medians.</summary>
    public string Run(int rounds)
    {
        var samples = contenders.Select(static _ => new List<Sample>()).ToArray();
        for (var round = 0; round < rounds; round++)
        {
            for (var i = 0; i < contenders.Length; i++)
            {
                samples[i].Add(contenders[i].Measure());
                Console.Error.WriteLine($"{title} | {contenders[i].Name} | {string.Join(" | ", Cells(samples[i][^1], samples[i][^1]))}");
            }
        }

        return Format(samples.Select(Sample.Median).ToArray());
    }

    private string Format(Sample[] medians)
    {
        var table = new StringBuilder();
        table.Append(CultureInfo.InvariantCulture, $"### {title}\n\n");
        table.Append("| | CPU-µs/request | ratio | with nginx | ratio | requests/s | ratio | p50 ms | p99 ms | memory | errors |\n");
        table.Append("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        for (var i = 0; i < medians.Length; i++)
            table.Append(CultureInfo.InvariantCulture, $"| {contenders[i].Name} | {string.Join(" | ", Cells(medians[i], medians[0]))} |\n");
        return table.Append('\n').ToString();
    }

    private static IEnumerable<string> Cells(Sample sample, Sample first)
    {
        yield return Number(sample.ServerCpu, "0.00");
        yield return Number(sample.ServerCpu / first.ServerCpu, "0.00");
        yield return Number(sample.ServerCpu + sample.FrontCpu, "0.0");
        yield return Number((sample.ServerCpu + sample.FrontCpu) / (first.ServerCpu + first.FrontCpu), "0.00");
        yield return Number(sample.Rate, sample.Rate < 10 ? "0.00" : "#,0");
        yield return Number(sample.Rate / first.Rate, "0.00");
        yield return Number(sample.P50 / 1000, "0.00");
        yield return Number(sample.P99 / 1000, "0.00");
        yield return Number(sample.Memory, "#,0");
        yield return sample.Errors.ToString(CultureInfo.InvariantCulture);
    }

    private static string Number(double value, string format) =>
        double.IsFinite(value) ? value.ToString(format, CultureInfo.InvariantCulture) : "";
}
