using System.Globalization;
using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>Handlers that keep their thread, on the default settings of each server unless the name says else.</summary>
internal static class SlowHandlerCases
{
    private const int FastConnections = 90;
    private const int SlowConnections = 10;
    private const int ColdConnections = 400;
    private static readonly string[] s_threadPool = ["--FastCgi:Transport:ApplicationScheduling", "ThreadPool"];

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var (path, what) in new[] { ("/block", "block for 50 ms"), ("/compute", "compute for 5 ms") })
        {
            yield return Mix(setup, path, $"hello on 90 connections while 10 more begin to {what}, the first 3 s, direct, TCP", isAfter: false);
            yield return Mix(setup, path, $"hello on 90 connections while 10 more {what}, after 10 s, direct, TCP", isAfter: true);
        }

        yield return Cold(setup, "the first 3 s", isWarm: false);
        yield return Cold(setup, "after the first 3 s", isWarm: true);
    }

    private static Comparison Mix(Setup setup, string slowPath, string title, bool isAfter)
    {
        Generators.Running StartHttp(ServerProcess server, string path, int connections, double seconds) =>
            setup.Load.StartHttp($"http://{server.EndPoint}{path}", connections, seconds);
        Generators.Running StartFastCgi(ServerProcess server, string path, int connections, double seconds) =>
            setup.Load.StartFastCgi(server, connections, seconds, "--path", path);
        Sample MeasureFastCgi(params string[] options) =>
            MeasureMix(setup, setup.StartFastCgi(Setup.NewTcp(), options), slowPath, isAfter, StartFastCgi, Generators.ReadFastCgi);

        return new Comparison(title,
            new Contender("Kestrel, HTTP", () => MeasureMix(
                setup, setup.StartKestrel(Setup.NewTcp()), slowPath, isAfter, StartHttp, static report => Generators.ReadHttp(report).Sample)),
            new Contender("FastCgi.AspNetCore", () => MeasureFastCgi()),
            new Contender("FastCgi.AspNetCore, scheduling ThreadPool", () => MeasureFastCgi(s_threadPool)));
    }

    /// <summary>A site that has answered hellos meets the slow handler. Its processor time is of both, so it is no figure of one.</summary>
    private static Sample MeasureMix(
        Setup setup, ServerProcess server, string slowPath, bool isAfter,
        Func<ServerProcess, string, int, double, Generators.Running> start, Func<string, Sample> read)
    {
        start(server, "/", FastConnections, 4).End();
        Sample sample;
        using (new Background(start(server, slowPath, SlowConnections, isAfter ? 14 : 4)))
        {
            if (isAfter)
                start(server, "/", FastConnections, 10).End();
            sample = read(start(server, "/", FastConnections, 3).End());
        }

        setup.StopAll();
        return sample with { ServerCpu = double.NaN };
    }

    private static Comparison Cold(Setup setup, string when, bool isWarm)
    {
        var threads = ColdConnections.ToString(CultureInfo.InvariantCulture);
        return new Comparison($"400 connections, all block for 50 ms, cold start, {when}, direct, TCP",
            new Contender("Kestrel, HTTP, 400 minimum threads by hand", () => MeasureCold(setup, isWarm,
                static (setup, at) => setup.StartKestrel(at, "--min-threads", ColdConnections.ToString(CultureInfo.InvariantCulture)),
                static (setup, server, seconds) => Generators.ReadHttp(setup.Load.StartHttp($"http://{server.EndPoint}/block", ColdConnections, seconds).End()).Sample)),
            new Contender("Kestrel, HTTP, default settings", () => MeasureCold(setup, isWarm,
                static (setup, at) => setup.StartKestrel(at),
                static (setup, server, seconds) => Generators.ReadHttp(setup.Load.StartHttp($"http://{server.EndPoint}/block", ColdConnections, seconds).End()).Sample)),
            new Contender("FastCgi.AspNetCore", () => MeasureCold(setup, isWarm, static (setup, at) => setup.StartFastCgi(at), RunCold)),
            new Contender("FastCgi.AspNetCore, scheduling ThreadPool", () => MeasureCold(setup, isWarm,
                static (setup, at) => setup.StartFastCgi(at, s_threadPool), RunCold)));
    }

    private static Sample RunCold(Setup setup, ServerProcess server, double seconds) =>
        Generators.ReadFastCgi(setup.Load.StartFastCgi(server, ColdConnections, seconds, "--path", "/block").End()) with { ServerCpu = double.NaN };

    private static Sample MeasureCold(Setup setup, bool isWarm, Func<Setup, EndPoint, ServerProcess> start, Func<Setup, ServerProcess, double, Sample> run)
    {
        var server = start(setup, Setup.NewTcp());
        var sample = run(setup, server, 3);
        if (isWarm)
            sample = run(setup, server, 3);
        setup.StopAll();
        return sample;
    }

    /// <summary>Load that is made beside the one that is measured.</summary>
    private sealed class Background(Generators.Running running) : IDisposable
    {
        public void Dispose() => running.End();
    }
}
