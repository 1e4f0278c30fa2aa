using System.Globalization;
using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>Handlers that compute for as long as ordinary pages do, without a web server.</summary>
internal static class ComputingCases
{
    private const string Kestrel = "Kestrel, HTTP";
    private const string Own = "FastCgi.AspNetCore";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var (transport, newEndPoint) in new (string, Func<EndPoint>)[] { ("TCP", Setup.NewTcp), ("unix socket", setup.NewUnix) })
        {
            var kestrel = new Lazy<ServerProcess>(() => setup.StartKestrel(Setup.NewTcp()));
            var own = new Lazy<ServerProcess>(() => setup.StartFastCgi(newEndPoint()));
            foreach (var microseconds in new[] { 30, 100, 300, 1_000 })
            {
                foreach (var connections in new[] { 2, 10, 30, 100 })
                    yield return Compare(setup, kestrel, own, microseconds, connections, transport);
            }

            setup.StopAll();
        }

        yield return Mixed(setup);
    }

    private static Comparison Compare(
        Setup setup, Lazy<ServerProcess> kestrel, Lazy<ServerProcess> own, int microseconds, int connections, string transport)
    {
        var title = string.Create(
            CultureInfo.InvariantCulture, $"a page that computes {microseconds:#,0} µs, direct, {transport}, {connections} connections");
        var path = $"/compute/{microseconds}";
        return new Comparison(title,
            new Contender(
                Kestrel, () => setup.Load.RunHttp(kestrel.Value, null, new HttpLoad(kestrel.Value.EndPoint, path), connections)),
            new Contender(Own, () => setup.Load.RunFastCgi(own.Value, connections, "--path", path)))
        {
            Targets =
            [
                new Target($"{title}: rate, relative to Kestrel", Own, Kestrel, static sample => sample.Rate, Bound.AtLeast(0.97, 1.05)),
                new Target("the same, CPU", Own, Kestrel, static sample => sample.ServerCpu, Bound.AtMost(1.02, 0.95)),
                new Target("the same, p99", Own, Kestrel, static sample => sample.P99, Bound.AtMost(1.0, 0.5)),
            ],
        };
    }

    private static Comparison Mixed(Setup setup)
    {
        var mix = new Mix("/compute/300", 30, LearnSeconds: 2, FastConnections: 20);
        return new Comparison("hello on 20 connections alongside 30 that compute 300 µs, direct, TCP",
            new Contender(Kestrel, () => mix.Measure(setup, setup.StartKestrel(Setup.NewTcp()), isFastCgi: false)),
            new Contender(Own, () => mix.Measure(setup, setup.StartFastCgi(Setup.NewTcp()), isFastCgi: true)))
        {
            Targets =
            [
                new Target(
                    "hello alongside 30 that compute 300 µs, p99, relative to Kestrel", Own, Kestrel, static sample => sample.P99,
                    Bound.AtMost(0.5, 0.1)),
            ],
        };
    }
}
