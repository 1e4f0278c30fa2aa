namespace SideBySide.Driver;

/// <summary>One measurement. A figure that was not measured is NaN.</summary>
internal sealed record Sample
{
    /// <summary>The server's CPU time per request, in microseconds.</summary>
    public double ServerCpu { get; init; } = double.NaN;

    /// <summary>The CPU time of nginx.</summary>
    public double FrontCpu { get; init; } = double.NaN;

    /// <summary>The CPU time of both.</summary>
    public double TotalCpu => ServerCpu + FrontCpu;

    /// <summary>The number of responses.</summary>
    public double Requests { get; init; } = double.NaN;

    /// <summary>Requests per second.</summary>
    public double Rate { get; init; } = double.NaN;

    /// <summary>The median response time, in microseconds.</summary>
    public double P50 { get; init; } = double.NaN;

    /// <summary>The 99th percentile of response times, in microseconds.</summary>
    public double P99 { get; init; } = double.NaN;

    /// <summary>The 99.9th percentile of response times, in microseconds.</summary>
    public double P999 { get; init; } = double.NaN;

    /// <summary>The longest response time, in microseconds.</summary>
    public double Slowest { get; init; } = double.NaN;

    /// <summary>The memory of the server in KiB, or of a request in bytes if the title says so.</summary>
    public double Memory { get; init; } = double.NaN;

    /// <summary>The number of missing or wrong responses.</summary>
    public long Errors { get; init; }

    /// <summary>The number of requests to a FastCGI server that had no response at the end.</summary>
    public long Waiting { get; init; }

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
