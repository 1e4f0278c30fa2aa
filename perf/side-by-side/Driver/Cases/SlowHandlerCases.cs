using System.Globalization;
using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>
/// Handlers that block their thread, with each server's default settings unless the name says otherwise.
/// </summary>
internal static class SlowHandlerCases
{
    private const string Kestrel = "Kestrel, HTTP";
    private const string Own = "FastCgi.AspNetCore";
    private const int ColdConnections = 400;
    private static readonly string[] s_threadPool = ["--FastCgi:Transport:ApplicationScheduling", "ThreadPool"];

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var (path, what) in new[] { ("/block", "block for 50 ms"), ("/compute", "compute for 5 ms") })
        {
            yield return Compare(
                setup,
                new Mix(path, 10, LearnSeconds: 0),
                $"hello on 90 connections while 10 more begin to {what}, the first 3 s, direct, TCP",
                path == "/compute" ? TargetsOf("hello alongside 10 that compute 5 ms, relative to Kestrel") : []);
            yield return Compare(
                setup,
                new Mix(path, 10, LearnSeconds: 10),
                $"hello on 90 connections while 10 more {what}, after 10 s, direct, TCP",
                []);
        }

        yield return Cold(setup, "the first 3 s", isWarm: false);
        yield return Cold(setup, "after the first 3 s", isWarm: true);
    }

    private static Comparison Compare(Setup setup, Mix mix, string title, Target[] targets) => new(title,
        new Contender(Kestrel, () => mix.Measure(setup, setup.StartKestrel(Setup.NewTcp()), isFastCgi: false)),
        new Contender(Own, () => mix.Measure(setup, setup.StartFastCgi(Setup.NewTcp()), isFastCgi: true)),
        new Contender(Own + ", scheduling ThreadPool", () => mix.Measure(setup, setup.StartFastCgi(Setup.NewTcp(), s_threadPool), isFastCgi: true)))
    {
        Targets = targets,
    };

    private static Target[] TargetsOf(string figure) =>
    [
        new Target(figure + ", rate", Own, Kestrel, static sample => sample.Rate, Bound.AtLeast(3, 5)),
        new Target("the same, p99", Own, Kestrel, static sample => sample.P99, Bound.AtMost(0.5, 0.3)),
    ];

    private static Comparison Cold(Setup setup, string when, bool isWarm)
    {
        return new Comparison($"400 connections, all block for 50 ms, cold start, {when}, direct, TCP",
            new Contender(Kestrel + ", 400 minimum threads by hand", () => MeasureCold(setup, isWarm,
                static (setup, at) => setup.StartKestrel(
                    at, "--min-threads", ColdConnections.ToString(CultureInfo.InvariantCulture)),
                static (setup, server, seconds) => Generators.ReadHttp(setup.Load.StartHttp(new HttpLoad(server.EndPoint, "/block"), ColdConnections, seconds).End()))),
            new Contender(Kestrel + ", default settings", () => MeasureCold(setup, isWarm,
                static (setup, at) => setup.StartKestrel(at),
                static (setup, server, seconds) => Generators.ReadHttp(setup.Load.StartHttp(new HttpLoad(server.EndPoint, "/block"), ColdConnections, seconds).End()))),
            new Contender(Own, () => MeasureCold(setup, isWarm, static (setup, at) => setup.StartFastCgi(at), RunCold)),
            new Contender(Own + ", scheduling ThreadPool", () => MeasureCold(setup, isWarm,
                static (setup, at) => setup.StartFastCgi(at, s_threadPool), RunCold)));
    }

    private static Sample RunCold(Setup setup, ServerProcess server, double seconds) =>
        Generators.ReadFastCgi(setup.Load.StartFastCgi(server, ColdConnections, seconds, "--path", "/block").End()) with
        {
            ServerCpu = double.NaN,
        };

    private static Sample MeasureCold(
        Setup setup,
        bool isWarm,
        Func<Setup, EndPoint, ServerProcess> start,
        Func<Setup, ServerProcess, double, Sample> run)
    {
        var server = start(setup, Setup.NewTcp());
        var sample = run(setup, server, 3);
        if (isWarm)
            sample = run(setup, server, 3);
        setup.StopAll();
        return sample;
    }
}
