using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.Json.Nodes;

namespace SideBySide.Driver;

/// <summary>The programs that make the load: fcgiload for FastCGI, wrk for HTTP. Both check the answers.</summary>
internal sealed class Generators(Settings settings)
{
    // On one processor, which it shares with the load, the just-in-time compiler takes so long to come to its last step.
    private const double WarmUpSeconds = 8;

    private readonly HashSet<int> _warm = [];
    private readonly HashSet<string> _warmUrls = [];

    /// <summary>Loads a FastCGI server.</summary>
    /// <param name="server">Who is measured.</param>
    /// <param name="connections">Connections, each with one request at a time.</param>
    /// <param name="options">More options of fcgiload.</param>
    public Sample RunFastCgi(ServerProcess server, int connections, params string[] options)
    {
        if (_warm.Add(server.Id))
            StartFastCgi(server, 30, WarmUpSeconds, [.. options.Where(static option => option != "--no-keepalive")]).End();
        return ReadFastCgi(StartFastCgi(server, connections, settings.Seconds, options).End());
    }

    /// <summary>Starts the load without waiting for its end, <see cref="ReadFastCgi"/>.</summary>
    public Running StartFastCgi(ServerProcess server, int connections, double seconds, params string[] options)
    {
        var target = server.EndPoint is UnixDomainSocketEndPoint ? $"unix:{server.EndPoint}" : $"{server.EndPoint}";
        return new Running(settings.LoadCores, Path.Combine(settings.Tools, "fcgiload"), [],
            ["--json", "-c", Text(connections), "-d", Text(seconds), "--pid", Text(server.Id), .. options, target]);
    }

    public static Sample ReadFastCgi(string report)
    {
        var json = JsonNode.Parse(report)!;
        return new Sample
        {
            ServerCpu = (double)json["server"]!["cpu_us_per_request"]!,
            Rate = (double)json["rps"]!,
            P50 = (double)json["latency_us"]!["p50"]!,
            P99 = (double)json["latency_us"]!["p99"]!,
            Memory = (double)json["server"]!["rss_after_kb"]!,
            Errors = (long)json["errors"]!["total"]!,
        };
    }

    /// <summary>Loads an HTTP server.</summary>
    /// <param name="server">Who is measured.</param>
    /// <param name="front">nginx before it, if there is one.</param>
    /// <param name="url">What is asked for.</param>
    /// <param name="connections">Connections, each with one request at a time.</param>
    /// <param name="bodySize">Bytes to post; 0 for GET.</param>
    public Sample RunHttp(ServerProcess server, ServerProcess? front, string url, int connections, int bodySize = 0)
    {
        if (_warmUrls.Add($"{server.Id} {url} {bodySize}"))
            StartHttp(url, 30, WarmUpSeconds, bodySize).End();
        var serverTime = server.CpuTime;
        var frontTime = front?.CpuTime ?? 0;
        var (sample, requests) = ReadHttp(StartHttp(url, connections, settings.Seconds, bodySize).End());
        return sample with
        {
            ServerCpu = (server.CpuTime - serverTime) / requests,
            FrontCpu = front is null ? double.NaN : (front.CpuTime - frontTime) / requests,
            Memory = server.Memory,
        };
    }

    /// <summary>Starts the load without waiting for its end, <see cref="ReadHttp"/>.</summary>
    public Running StartHttp(string url, int connections, double seconds, int bodySize = 0) =>
        new(settings.LoadCores, "wrk", new() { ["BODY_SIZE"] = Text(bodySize) },
            ["-t", "1", "-c", Text(connections), "-d", Text(Math.Max(1, Math.Round(seconds))), "--timeout", "20",
             "-s", Path.Combine(settings.Tools, "wrk-report.lua"), url]);

    public static (Sample Sample, double Requests) ReadHttp(string report)
    {
        var line = report.Split('\n').Single(static line => line.StartsWith("report ", StringComparison.Ordinal));
        var figures = line.Split(' ')[1..].Select(static figure => double.Parse(figure, CultureInfo.InvariantCulture)).ToArray();
        return (new Sample { Rate = figures[0] / figures[1] * 1e6, P50 = figures[2], P99 = figures[3], Errors = (long)figures[4] }, figures[0]);
    }

    private static string Text(double number) => number.ToString(CultureInfo.InvariantCulture);

    /// <summary>A generator at work.</summary>
    internal sealed class Running
    {
        private readonly Process _process;

        public Running(string cores, string program, Dictionary<string, string> environment, string[] arguments)
        {
            var start = new ProcessStartInfo("taskset", ["-c", cores, program, .. arguments]) { RedirectStandardOutput = true };
            foreach (var (name, value) in environment)
                start.Environment[name] = value;
            _process = Process.Start(start)!;
        }

        /// <summary>Waits for the end.</summary>
        /// <returns>What it reports.</returns>
        public string End()
        {
            using (_process)
            {
                var report = _process.StandardOutput.ReadToEnd();
                _process.WaitForExit();
                return report;
            }
        }
    }
}
