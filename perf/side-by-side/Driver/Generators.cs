using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.Json.Nodes;

namespace SideBySide.Driver;

/// <summary>The load generators: fcgiload for FastCGI, wrk and httppace for HTTP. They check the responses.</summary>
internal sealed class Generators(Settings settings)
{
    private readonly HashSet<string> _warm = [];

    /// <summary>Loads a FastCGI server.</summary>
    /// <param name="server">Who is measured.</param>
    /// <param name="connections">Connections, each with one request at a time.</param>
    /// <param name="options">More options of fcgiload.</param>
    public Sample RunFastCgi(ServerProcess server, int connections, params string[] options)
    {
        string[] kept = [.. options.Where((option, i) => option is not ("--no-keepalive" or "--rate") && (i == 0 || options[i - 1] != "--rate"))];
        if (server.NeedsWarmUp && _warm.Add($"{server.Id} {string.Join(' ', kept)}"))
            WarmUp(() => ReadFastCgi(StartFastCgi(server, 30, settings.WarmUpSeconds, kept).End()).ServerCpu);
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
            Requests = (double)json["requests"]!,
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
    /// <param name="load">The load to generate.</param>
    /// <param name="connections">Connections, each with one request at a time.</param>
    /// <param name="seconds">The duration; null for that of all measurements.</param>
    public Sample RunHttp(
        ServerProcess server, ServerProcess? front, HttpLoad load, int connections, double? seconds = null)
    {
        var unpaced = load with { Rate = 0 };
        if (_warm.Add($"{server.Id} {unpaced}"))
            WarmUp(() => MeasureHttp(server, front, unpaced, 30, settings.WarmUpSeconds).ServerCpu);
        return MeasureHttp(server, front, load, connections, seconds ?? settings.Seconds);
    }

    private Sample MeasureHttp(
        ServerProcess server, ServerProcess? front, HttpLoad load, int connections, double seconds)
    {
        var serverTime = server.CpuTime;
        var frontTime = front?.CpuTime ?? 0;
        var sample = ReadHttp(StartHttp(load, connections, seconds).End());
        return sample with
        {
            ServerCpu = (server.CpuTime - serverTime) / sample.Requests,
            FrontCpu = front is null ? double.NaN : (front.CpuTime - frontTime) / sample.Requests,
            Memory = server.Memory,
        };
    }

    /// <summary>Starts the load without waiting for its end, <see cref="ReadHttp"/>.</summary>
    public Running StartHttp(HttpLoad load, int connections, double seconds)
    {
        if (load.Rate > 0)
        {
            var at = (IPEndPoint)load.EndPoint;
            return new Running(settings.LoadCores, Path.Combine(settings.Tools, "httppace"), [],
                [$"{at.Address}", Text(at.Port), load.Path, Text(connections), Text(seconds), Text(load.Rate)]);
        }

        return new Running(
            settings.LoadCores,
            "wrk",
            new()
            {
                ["BODY_SIZE"] = Text(load.BodySize),
                ["BODY_KIND"] = load.BodyKind,
                ["EXTRA_HEADERS"] = Text(load.Headers),
            },
            ["-t", "1", "-c", Text(connections), "-d", Text(Math.Max(1, Math.Round(seconds))), "--timeout", "20",
                 "-s", Path.Combine(settings.Tools, "wrk-report.lua"), $"http://{load.EndPoint}{load.Path}"]);
    }

    public static Sample ReadHttp(string report)
    {
        var line = report.Split('\n').Single(static line => line.StartsWith("report ", StringComparison.Ordinal));
        var figures = line.Split(' ')[1..]
            .Select(static figure => double.Parse(figure, CultureInfo.InvariantCulture))
            .ToArray();
        return new Sample
        {
            Requests = figures[0],
            Rate = figures[0] / figures[1] * 1e6,
            P50 = figures[2],
            P99 = figures[3],
            Errors = (long)figures[4],
            P999 = figures[5],
            Slowest = figures[6],
        };
    }

    /// <summary>
    /// Runs until just-in-time compilation no longer matters: an MVC page takes three times as long as plain text.
    /// </summary>
    private static void WarmUp(Func<double> measureCpu)
    {
        const int MostRounds = 8;
        var before = measureCpu();
        for (var round = 1; round < MostRounds; round++)
        {
            var now = measureCpu();
            if (now > 0.95 * before)
                return;
            before = now;
        }
    }

    private static string Text(double number) => number.ToString(CultureInfo.InvariantCulture);

    /// <summary>A running load generator.</summary>
    internal sealed class Running
    {
        private readonly Process _process;

        public Running(string cores, string program, Dictionary<string, string> environment, string[] arguments)
        {
            var start = new ProcessStartInfo("taskset", ["-c", cores, program, .. arguments])
            {
                RedirectStandardOutput = true,
            };
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
