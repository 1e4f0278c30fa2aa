using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>What wrk says of a load that it has made. The duration is measured here, on the clock that the server reads too.</summary>
internal sealed partial record LoadRun(long Requests, long Bytes, TimeSpan Duration, long Errors, TimeSpan Median, TimeSpan Percentile99, TimeSpan Max)
{
    /// <summary>Makes a load, on one thread.</summary>
    /// <param name="url">What is asked for.</param>
    /// <param name="connections">How many clients ask, one request after the other.</param>
    /// <param name="seconds">How long it lasts.</param>
    /// <param name="limit">Behind how many answers it ends; 0 for no limit.</param>
    public static async Task<LoadRun> MakeAsync(string url, int connections, int seconds, int limit)
    {
        var script = Path.Combine(AppContext.BaseDirectory, "wrk.lua");
        var beganAt = Stopwatch.GetTimestamp();
        var text = await RunAsync("wrk", $"-t1 -c{connections} -d{seconds}s --timeout 30s -s {script} {url} -- {limit}".Split(' '));
        var seen = Seen().Matches(text).ToDictionary(static match => match.Groups[1].Value, static match => long.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture));
        var duration = Stopwatch.GetElapsedTime(beganAt);
        Assert.True(seen.Count == 6, text);
        // Its own summary, which people read.
        Assert.Contains($"{seen["requests"]} requests in ", text, StringComparison.Ordinal);
        return new LoadRun(seen["requests"], seen["bytes"], duration, seen["errors"], Time("p50"), Time("p99"), Time("max"));

        TimeSpan Time(string name) => TimeSpan.FromMicroseconds(seen[name]);
    }

    /// <summary>Runs a program to its end.</summary>
    /// <returns>What it wrote.</returns>
    public static async Task<string> RunAsync(string program, params string[] arguments)
    {
        var (exitCode, text) = await ExternalProgram.RunAsync(program, arguments);
        Assert.True(exitCode == 0, $"{program} {string.Join(' ', arguments)}: {text}");
        return text;
    }

    [GeneratedRegex("\\b(requests|bytes|errors|p50|p99|max)=([0-9]+)")]
    private static partial Regex Seen();
}
