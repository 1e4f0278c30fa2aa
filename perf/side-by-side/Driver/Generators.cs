using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace SideBySide.Driver;

/// <summary>The load generators: fcgiload for FastCGI; wrk, httppace and ab for HTTP. They check the responses.</summary>
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
            WarmUp(() => Measure(server, null, () => StartFastCgi(server, 30, settings.WarmUpSeconds, kept)).ServerCpu);
        return Measure(server, null, () => StartFastCgi(server, connections, settings.Seconds, options));
    }

    /// <summary>Starts the load without waiting for its end, <see cref="Read"/>.</summary>
    public Running StartFastCgi(ServerProcess server, int connections, double seconds, params string[] options)
    {
        var target = server.EndPoint is UnixDomainSocketEndPoint ? $"unix:{server.EndPoint}" : $"{server.EndPoint}";
        return new Running(settings.LoadCores, Path.Combine(settings.Tools, "fcgiload"), [],
            ["-c", Text(connections), "-d", Text(seconds), .. options, target]);
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
            WarmUp(() => Measure(server, front, () => StartHttp(unpaced, 30, settings.WarmUpSeconds)).ServerCpu);
        return Measure(server, front, () => StartHttp(load, connections, seconds ?? settings.Seconds));
    }

    private static Sample Measure(ServerProcess server, ServerProcess? front, Func<Running> start)
    {
        var serverTime = server.CpuTime;
        var frontTime = front?.CpuTime ?? 0;
        var sample = Read(start().End());
        return sample with
        {
            ServerCpu = (server.CpuTime - serverTime) / sample.Requests,
            FrontCpu = front is null ? double.NaN : (front.CpuTime - frontTime) / sample.Requests,
            Memory = server.Memory,
        };
    }

    /// <summary>Starts the load without waiting for its end, <see cref="Read"/>.</summary>
    public Running StartHttp(HttpLoad load, int connections, double seconds)
    {
        if (load.Rate > 0)
        {
            var at = (IPEndPoint)load.EndPoint;
            return new Running(settings.LoadCores, Path.Combine(settings.Tools, "httppace"), [],
                [$"{at.Address}", Text(at.Port), load.Path, Text(connections), Text(seconds), Text(load.Rate)]);
        }

        if (load.UsesAb)
            return new Running(settings.LoadCores, "sh", [],
                [
                    Path.Combine(settings.Tools, "ab-report.sh"), Text(connections), Text(seconds),
                    $"http://{load.EndPoint}{load.Path}",
                ]);

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

    /// <summary>Reads what a load generator reports, which all do alike.</summary>
    public static Sample Read(string report)
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
            Waiting = figures.Length > 7 ? (long)figures[7] : 0,
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
