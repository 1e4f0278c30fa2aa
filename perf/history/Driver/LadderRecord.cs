using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>The ladder of HyperFastCgi, and its finding about the minimum number of threads.</summary>
internal static class LadderRecord
{
    private static readonly int[] s_connections = [10, 20, 30];

    private static readonly (string Name, bool IsUnix, bool IsKept)[] s_ours =
    [
        ("TCP, a connection per request", false, false), ("unix socket, a connection per request", true, false),
        ("TCP, kept", false, true),
        ("unix socket, kept", true, true),
    ];

    public static Section Describe() => new("ladder", "HyperFastCgi's ladder (2013)",
        "Source: [forcedtoadmin.blogspot.com, December 2013](http://forcedtoadmin.blogspot.com/2013/12). `ab -n 100000 -c 10/20/30` through nginx, hello " +
        "and a JSON service. " +
        "Published at 10 / 20 / 30 connections, Mono 3.2 on an old desktop: a connection per request 2,620 / 2,673 / 2,681 requests/s (TCP), 2,744 / 2,952 " +
        "/ 2,949 (unix socket); " +
        "kept 3,720 / – / 3,908 (TCP), 4,025 / 4,459 / 4,483 (unix socket); bare .NET server about 5,000; fastcgi-mono-server4 571; JSON 1,756 / 1,817 / " +
        "1,823 kept over a unix socket.");

    public static void Run(Bench bench, Section section)
    {
        var own = (Tcp: Setup.NewTcp(), Unix: bench.Setup.NewUnix());
        bench.StartFastCgi(own.Tcp, own.Unix);
        var bare = bench.StartKestrel(Setup.NewTcp());
        var behind = bench.StartKestrel(bench.Setup.NewUnix());
        List<Row> rows =
        [
            new("Kestrel, bare, without nginx", bare),
            new("Kestrel behind nginx, unix socket, kept", bench.Setup.StartNginx(behind, isFastCgi: false)),
        ];
        rows.AddRange(s_ours.Select(our => new Row("FastCgi.AspNetCore, " + our.Name,
            bench.Setup.StartNginx(our.IsUnix ? own.Unix : own.Tcp, isFastCgi: true, our.IsKept))
        { IsOurs = true }));
        var mono = StartMono(bench);
        if (mono is not null)
            rows.Add(new Row("fastcgi-mono-server4, unix socket", mono) { IsMono = true });

        var best = new List<double>();
        var bars = new List<(string, double, BarPicture.Kind)>();
        foreach (var page in new[] { "hello", "json" })
            Measure(bench, section, rows, page, best, bars);
        section.Add(bench.Picture(section.Name, "hello through nginx, 30 connections", "requests/s",
        [
            .. bars, ("published: HyperFastCgi, unix socket, kept", 4_483, BarPicture.Kind.Published),
            ("published: bare .NET server", 5_000, BarPicture.Kind.Published),
            ("published: fastcgi-mono-server", 571, BarPicture.Kind.Published),
        ]));
        section.Add("Without kept connections nginx connects to the server for each request, and both close; bare Kestrel has no connection of that kind. " +
            "That is the price of a web server, not of the protocol, so the line to compare with is Kestrel behind nginx.");
        bench.Setup.StopAll();
        var threads = MeasureThreads(bench, section);
        var monoRatio = best[2] > 0
            ? string.Create(CultureInfo.InvariantCulture, $", {best[2]:0.0} × that of fastcgi-mono-server4")
            : "";
        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"{best[0]:#,0} requests/s through nginx with 30 connections: {best[1]:0.00} × the rate of the same application on Kestrel " +
            $"without nginx{monoRatio}; {threads}");
    }

    private static void Measure(
        Bench bench,
        Section section,
        List<Row> rows,
        string page,
        List<double> best,
        List<(string, double, BarPicture.Kind)> bars)
    {
        var rounds = bench.Choose(4, 2);
        foreach (var row in rows)
        {
            row.Clear();
            if (!row.IsMono)
                bench.WarmUp(row.Server, Path(row, page));
            else
                ApacheBench.Run(bench.Settings, row.Server.EndPoint, Path(row, page), 300, 10);
        }

        for (var round = 0; round < rounds; round++)
        {
            for (var i = 0; i < s_connections.Length; i++)
            {
                // fastcgi-mono-server4 is so slow that a tenth of the requests is enough.
                foreach (var row in rows)
                    row.Add(i, bench.Load(row.Server, Path(row, page), (row.IsMono ? bench.Choose(10_000, 400) : bench.Choose(100_000, 4_000)) / rounds,
                        s_connections[i]));
            }
        }

        var (bare, mono) = (rows[0], rows.Find(static row => row.IsMono));
        section.Add($"**{page}**: requests/s, mean and standard deviation of {rounds} rounds in turns, {bench.Choose(100_000, 4_000):#,0} requests in all " +
            "for each figure.");
        section.AddTable(["", "10", "20", "30", "lowest ÷ bare Kestrel", "failed"], rows.Select(row => (string[])
            [row.Name, .. row.Rates.Select(static rate => rate.ToString()), Figures.Number(Lowest(row, bare)),
                row.Failed.ToString(CultureInfo.InvariantCulture)]));
        var ours = rows.Where(static row => row.IsOurs).ToArray();
        foreach (var row in ours)
            section.AtLeast($"{page}, {row.Name["FastCgi.AspNetCore, ".Length..]}: requests/s ÷ bare Kestrel, the lowest of 10, 20 and 30", Lowest(row,
                bare), 0.9);
        section.AtLeast($"{page}, unix socket, kept: the lowest ÷ Kestrel behind nginx", Lowest(ours[^1], rows[1]), 1);
        if (mono is not null)
            section.AtLeast(
                $"{page}: the lowest of all ours ÷ fastcgi-mono-server4", ours.Min(row => Lowest(row, mono)), 4);
        section.AtMost($"{page}: failed requests", ours.Sum(static row => row.Failed), 0);
        if (page != "hello")
            return;

        best.AddRange(
            [
                ours[^1].Rates[2].Mean,
                ours[^1].Rates[2].Mean / bare.Rates[2].Mean,
                mono is null ? 0 : ours[^1].Rates[2].Mean / mono.Rates[2].Mean,
            ]);
        bars.AddRange(rows.Select(static row => (row.Name, row.Rates[2].Mean, row.IsOurs ? BarPicture.Kind.Ours : BarPicture.Kind.Other)));
    }

    /// <summary>
    /// HyperFastCgi gained 19 to 24 % from /minthreads=20,8. Here a page that blocks for 50 ms, right after the start,
    /// and JSON.
    /// </summary>
    private static string MeasureThreads(Bench bench, Section section)
    {
        var seconds = bench.Choose(10, 3);
        string[] set = ["--min-threads", "20,8"];
        var rows = new List<(string Name, AbResult Blocked, ServerProcess Nginx, Figures Json)>();
        foreach (var options in new string[][] { [], set })
        {
            Start("Kestrel behind nginx", bench.StartKestrel(bench.Setup.NewUnix(), options), isFastCgi: false);
            Start("FastCgi.AspNetCore", bench.StartFastCgi(bench.Setup.NewUnix(), options), isFastCgi: true);

            void Start(string name, ServerProcess server, bool isFastCgi)
            {
                var nginx = bench.Setup.StartNginx(server, isFastCgi);
                var blocked = bench.Load(nginx, "/block", 1_000_000, 400, keepAlive: true, seconds);
                rows.Add(
                    (options.Length > 0 ? $"{name}, SetMinThreads(20, 8)" : $"{name}, default", blocked, nginx,
                        new Figures()));
            }
        }

        foreach (var row in rows)
            bench.WarmUp(row.Nginx, "/json");
        for (var round = 0; round < 4; round++)
        {
            foreach (var row in rows)
                row.Json.Add(bench.Load(row.Nginx, "/json", bench.Choose(25_000, 2_000), 30).Rate);
        }

        bench.Setup.StopAll();
        section.Add("**Minimum threads.** `/minthreads=20,8` gave HyperFastCgi 19 to 24 % more. Requests/s of a page that blocks for 50 ms, " +
            $"400 connections, the first {seconds} s after the start; and of JSON, 30 connections, warm, in turns.");
        section.AddTable(["", "blocking", "JSON", "failed"],
            rows.Select(static row => (string[])[row.Name, Figures.Number(row.Blocked.Rate), row.Json.ToString(), $"{row.Blocked.Failed}"]));
        var (blocking, json) = (rows[1].Blocked.Rate / rows[3].Blocked.Rate, rows[1].Json.Mean / rows[3].Json.Mean);
        section.AtLeast("minimum threads: blocking page, default ÷ with the setting", blocking, 0.8);
        section.AtLeast("minimum threads: JSON, default ÷ with the setting", json, 0.95);
        return string.Create(CultureInfo.InvariantCulture,
            $"default threads give {blocking:0.00} × (blocking page) and {json:0.00} × (JSON) the rate with `SetMinThreads(20, 8)`");
    }

    // Over TCP, its responses wait 40 ms for delayed acknowledgements, so it uses the Unix socket.
    private static ServerProcess? StartMono(Bench bench)
    {
        try
        {
            var socket = bench.Setup.NewUnix();
            bench.Setup.Start(
                socket,
                "fastcgi-mono-server4",
                $"/socket=unix:{socket}",
                $"/applications=/:{bench.Settings.Tools}",
                "/loglevels=None");
            var nginx = bench.Setup.StartNginx(socket, isFastCgi: true, isKept: false,
                $"fastcgi_param SCRIPT_FILENAME {bench.Settings.Tools}$fastcgi_script_name;");
            Bench.Check(nginx.EndPoint, "/index.ashx");
            return nginx;
        }
        catch (Exception e)
        {
            Bench.Log($"fastcgi-mono-server4 is left out: {e.Message}");
            return null;
        }
    }

    private static string Path(Row row, string page) => (page, row.IsMono) switch
    {
        ("hello", true) => "/index.ashx",
        ("hello", false) => "/",
        (_, true) => "/json.ashx",
        _ => "/json",
    };

    private static double Lowest(Row row, Row against)
        => row.Rates.Zip(against.Rates, static (rate, other) => rate.Mean / other.Mean).Min();

    private sealed record Row(string Name, ServerProcess Server)
    {
        public bool IsOurs { get; init; }

        public bool IsMono { get; init; }

        public Figures[] Rates { get; private set; } = [];

        public long Failed { get; private set; }

        public void Clear() => (Rates, Failed) = ([.. s_connections.Select(static _ => new Figures())], 0);

        public void Add(int at, AbResult result)
        {
            Rates[at].Add(result.Rate);
            Failed += result.Failed;
        }
    }
}
