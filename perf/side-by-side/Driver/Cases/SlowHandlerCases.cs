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
            var kestrel = setup.StartKestrel(Setup.NewTcp());
            var fastCgi = setup.StartFastCgi(Setup.NewTcp());
            var threadPool = setup.StartFastCgi(Setup.NewTcp(), s_threadPool);
            yield return new Comparison($"hello on 90 connections while 10 more {what}, direct, TCP",
                new Contender("Kestrel, HTTP", () => MixHttp(setup, kestrel, path)),
                new Contender("FastCgi.AspNetCore", () => MixFastCgi(setup, fastCgi, path)),
                new Contender("FastCgi.AspNetCore, scheduling ThreadPool", () => MixFastCgi(setup, threadPool, path)));
            setup.StopAll();
        }

        yield return Cold(setup, "the first 3 s", isWarm: false);
        yield return Cold(setup, "after the first 3 s", isWarm: true);
    }

    private static Sample MixHttp(Setup setup, ServerProcess server, string path)
    {
        var seconds = setup.Settings.Seconds;
        var url = $"http://{server.EndPoint}";
        using var slow = new Background(setup.Load.StartHttp(url + path, SlowConnections, seconds + 3));
        setup.Load.StartHttp(url + "/", FastConnections, 2).End();
        return Generators.ReadHttp(setup.Load.StartHttp(url + "/", FastConnections, seconds).End()).Sample;
    }

    private static Sample MixFastCgi(Setup setup, ServerProcess server, string path)
    {
        var seconds = setup.Settings.Seconds;
        using var slow = new Background(setup.Load.StartFastCgi(server, SlowConnections, seconds + 3, "--path", path));
        setup.Load.StartFastCgi(server, FastConnections, 2).End();
        // The processor time is of both kinds of requests, so it is no figure of one.
        return Generators.ReadFastCgi(setup.Load.StartFastCgi(server, FastConnections, seconds).End()) with { ServerCpu = double.NaN };
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
