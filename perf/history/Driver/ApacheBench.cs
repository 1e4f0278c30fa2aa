using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Text.RegularExpressions;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>What ab reports.</summary>
/// <param name="Requests">Received responses.</param>
/// <param name="Rate">Requests per second.</param>
/// <param name="Mean">The mean time of a request, in ms.</param>
/// <param name="Longest">The longest request, in ms.</param>
/// <param name="Failed">Responses that were wrong or not 2xx.</param>
internal sealed record AbResult(long Requests, double Rate, double Mean, double Longest, long Failed);

/// <summary>ab, the load generator of most records.</summary>
internal static class ApacheBench
{
    private static readonly TimeSpan s_longest = TimeSpan.FromMinutes(10);

    /// <summary>
    /// Runs ab. If it gives up because of a reset or a timeout, throws an exception with its message.
    /// </summary>
    public static AbResult Run(
        Settings settings,
        EndPoint server,
        string path,
        int requests,
        int connections,
        bool keepAlive = false,
        int seconds = 0)
    {
        string[] arguments = ["-c", settings.LoadCores, "ab", "-q", "-s", "30", "-c", Text(connections), .. keepAlive ? ["-k"] : Array.Empty<string>(),
            .. seconds > 0 ? ["-t", Text(seconds)] : Array.Empty<string>(), "-n", Text(requests), $"http://{server}{path}"];
        using var process = Process.Start(new ProcessStartInfo("taskset", arguments) { RedirectStandardOutput = true, RedirectStandardError = true })!;
        using var limit = new Timer(_ => process.Kill(), null, s_longest, Timeout.InfiniteTimeSpan);
        var errors = process.StandardError.ReadToEndAsync();
        var text = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        if (process.ExitCode != 0)
            throw new InvalidOperationException(
                $"ab on {path}: {errors.Result.Trim().Split('\n')[^1]} (exit code {process.ExitCode})");

        var complete = (long)Read(text, "Complete requests:");
        var missing = seconds > 0 ? 0 : requests - complete;
        var failed = (long)Read(text, "Failed requests:") + missing + (
            text.Contains("Non-2xx", StringComparison.Ordinal) ? (long)Read(text,
                "Non-2xx responses:") : 0);
        return new AbResult(
            complete, Read(text, "Requests per second:"), Read(text, "Time per request:"), Read(text, "100%"), failed);
    }

    private static double Read(string text, string label)
    {
        var match = Regex.Match(text, Regex.Escape(label) + @"\s+([\d.]+)");
        return match.Success ? double.Parse(match.Groups[1].ValueSpan, CultureInfo.InvariantCulture)
            : throw new InvalidOperationException($"ab does not report \"{label}\".");
    }

    private static string Text(int number) => number.ToString(CultureInfo.InvariantCulture);
}
