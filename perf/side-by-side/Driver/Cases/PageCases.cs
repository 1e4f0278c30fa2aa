namespace SideBySide.Driver.Cases;

/// <summary>
/// Pages that keep their thread without await: they compute, wait, or query a database. Without a web server, and with
/// each server's default settings unless the name says otherwise.
/// </summary>
internal static class PageCases
{
    private const int ColdConnections = 400;
    private static readonly int[] s_computing = [5, 10, 30, 60];
    private static readonly int[] s_waiting = [8, 64];
    private static readonly int[] s_querying = [8, 30, 64];

    private static readonly Page[] s_pages =
    [
        new("that says hello", "/", [10, 30, 100]),
        .. new[] { 10, 20, 30, 60, 100, 150, 300, 1_000 }.Select(static time => Computing(time, isUnix: false)),
        .. new[] { 30, 150 }.Select(static time => Computing(time, isUnix: true)),
        new("that computes 150 µs and allocates 100 KB", "/garbage", [2, 30]),
        .. new[] { 200, 500, 900 }.Select(
            static time => new Page($"that waits {time} µs", $"/wait/{time}", s_waiting) { Waits = true }),
        new("with a row by Npgsql", "/npgsql/1", s_querying) { Waits = true },
        new("with 50 rows by Npgsql", "/npgsql/50", s_querying) { Waits = true },
        new("with 50 rows by Dapper", "/dapper/50", s_querying) { Waits = true },
    ];

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var page in s_pages)
        {
            // New servers for each page: a thread pool keeps the threads that it added for the page before.
            var servers = SiteServer.All(setup, page.IsUnix);
            foreach (var connections in page.Connections)
                yield return Compare(page, servers, connections);
            setup.StopAll();
        }

        foreach (var (mix, what) in new[]
        {
            (new Mix("/block", 10, 0), "10 more begin to block for 50 ms, the first 3 s"),
            (new Mix("/block", 10, 10), "10 more block for 50 ms, after 10 s"),
            (new Mix("/compute", 10, 0), "10 more begin to compute for 5 ms, the first 3 s"),
            (new Mix("/compute", 10, 10), "10 more compute for 5 ms, after 10 s"),
            (new Mix("/compute/300", 30, 2, 20), "30 more compute 300 µs"),
            (new Mix("/wait/200", 64, 2, 20), "64 more wait 200 µs"),
            (new Mix("/wait/500", 64, 2, 20), "64 more wait 500 µs"),
            (new Mix("/wait/900", 64, 2, 20), "64 more wait 900 µs"),
        })
            yield return Beside(setup, mix, what);

        yield return Cold(setup, "the first 3 s", isWarm: false);
        yield return Cold(setup, "after the first 3 s", isWarm: true);
    }

    private static Page Computing(int microseconds, bool isUnix)
        => new($"that computes {microseconds:#,0} µs", $"/compute/{microseconds}", s_computing) { IsUnix = isUnix };

    private static Comparison Compare(Page page, SiteServer[] servers, int connections)
    {
        var title = $"a page {page.What}, direct, {(page.IsUnix ? "unix socket" : "TCP")}, {connections} connections";
        var first = servers[0].Name;
        return new Comparison(title, [.. servers.Select(
            server => new Contender(server.Name, () => server.Measure(page.Path, connections)))])
        {
            Targets = first == SiteServer.Before
                ? [Rate(title, first, 0.98), Cpu(first, 1.02), Slow(first, 1.1)]
                : page.Waits
                ?
                [
                    Rate(title, SiteServer.Kestrel, 1.0), Rate("the same", SiteServer.OwnThreadPool, 1.0),
                    Rate("the same", SiteServer.KestrelThreads, 0.95), Cpu(SiteServer.Kestrel, 1.0),
                ]
                :
                [
                    Rate(title, SiteServer.Kestrel, 0.97), Cpu(SiteServer.Kestrel, 1.02),
                    Slow(SiteServer.Kestrel, 1.0),
                ],
            MostRounds = 3,
        };
    }

    private static Comparison Beside(Setup setup, Mix mix, string what)
    {
        var title = $"hello on {mix.FastConnections} connections while {what}, direct, TCP";
        var servers = SiteServer.All(setup);
        var first = servers[0].Name;
        return new Comparison(title, [.. servers.Select(
            server => new Contender(server.Name, () => mix.Measure(setup, server)))])
        {
            Targets = first == SiteServer.Before
                ? [Rate(title, first, 0.98), Slow(first, 1.1)]
                : mix.SlowPath == "/compute"
                ? [Rate(title, first, 3), Slow(first, 0.5)]
                : mix.FastConnections == 20 ? [Slow(first, 0.5) with { Figure = $"{title}, p99" }] : [],
            MostRounds = 3,
        };
    }

    private static Target Rate(string figure, string against, double bound)
        => Ratio($"{figure}, rate", against, static sample => sample.Rate, Bound.AtLeast(bound));

    private static Target Cpu(string against, double bound)
        => Ratio("the same, CPU", against, static sample => sample.ServerCpu, Bound.AtMost(bound));

    private static Target Slow(string against, double bound)
        => Ratio("the same, p99", against, static sample => sample.P99, Bound.AtMost(bound));

    private static Target Ratio(string figure, string against, Func<Sample, double> quantity, Bound bound)
        => new($"{figure}, relative to {against}", SiteServer.Own, against, quantity, bound);

    private static Comparison Cold(Setup setup, string when, bool isWarm) => new(
        $"400 connections, all block for 50 ms, cold start, {when}, direct, TCP",
        [.. SiteServer.All(setup).Select(server => new Contender(server.Name, () =>
        {
            var process = server.Start();
            for (var isFirst = isWarm; ; isFirst = false)
            {
                var report = server.StartLoad(process, "/block", ColdConnections, 3).End();
                if (isFirst)
                    continue;

                var sample = Generators.Read(report) with { Memory = process.Memory };
                setup.StopAll();
                return sample;
            }
        }))]);

    private sealed record Page(string What, string Path, int[] Connections)
    {
        /// <summary>Whether it keeps its thread without computing.</summary>
        public bool Waits { get; init; }

        /// <summary>Whether this server is reached over a Unix socket; Kestrel is not.</summary>
        public bool IsUnix { get; init; }
    }
}
