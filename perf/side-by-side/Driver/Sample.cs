namespace SideBySide.Driver;

/// <summary>One measurement. What was not measured is not a number.</summary>
internal sealed record Sample
{
    /// <summary>Microseconds of processor time that the server took for a request.</summary>
    public double ServerCpu { get; init; } = double.NaN;

    /// <summary>The same of nginx.</summary>
    public double FrontCpu { get; init; } = double.NaN;

    /// <summary>Of both.</summary>
    public double TotalCpu => ServerCpu + FrontCpu;

    /// <summary>Answers that came.</summary>
    public double Requests { get; init; } = double.NaN;

    /// <summary>Requests a second.</summary>
    public double Rate { get; init; } = double.NaN;

    /// <summary>Half of the answers took no longer, in microseconds.</summary>
    public double P50 { get; init; } = double.NaN;

    /// <summary>All but one of a hundred answers took no longer, in microseconds.</summary>
    public double P99 { get; init; } = double.NaN;

    /// <summary>All but one of a thousand answers took no longer, in microseconds.</summary>
    public double P999 { get; init; } = double.NaN;

    /// <summary>The slowest answer, in microseconds.</summary>
    public double Slowest { get; init; } = double.NaN;

    /// <summary>Memory: of the server in KiB, or bytes for a request where the title says so.</summary>
    public double Memory { get; init; } = double.NaN;

    /// <summary>Answers that did not come or were wrong.</summary>
    public long Errors { get; init; }

    /// <summary>The median of each figure, and the sum of the errors.</summary>
    public static Sample Median(IReadOnlyList<Sample> samples) => new()
    {
        ServerCpu = Middle(samples, static sample => sample.ServerCpu),
        FrontCpu = Middle(samples, static sample => sample.FrontCpu),
        Requests = Middle(samples, static sample => sample.Requests),
        Rate = Middle(samples, static sample => sample.Rate),
        P50 = Middle(samples, static sample => sample.P50),
        P99 = Middle(samples, static sample => sample.P99),
        P999 = Middle(samples, static sample => sample.P999),
        Slowest = Middle(samples, static sample => sample.Slowest),
        Memory = Middle(samples, static sample => sample.Memory),
        Errors = samples.Sum(static sample => sample.Errors),
    };

    /// <summary>The median.</summary>
    public static double Middle(IEnumerable<double> figures)
    {
        var values = figures.Order().ToArray();
        return values.Length % 2 == 1
            ? values[values.Length / 2]
            : (values[values.Length / 2 - 1] + values[values.Length / 2]) / 2;
    }

    private static double Middle(IReadOnlyList<Sample> samples, Func<Sample, double> figure)
        => Middle(samples.Select(figure));
}
