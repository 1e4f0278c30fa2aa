using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>The F# socket server.</summary>
internal static class SocketsRecord
{
    public static Section Describe() => new("sockets", "The F# socket server (2011)",
        "Source: [An F# Web Server From Sockets and Up](https://t0yv0.blogspot.com/2011/11/f-web-server-from-sockets-and-up.html). `ab -k -c 1000 -n " +
        "10000`, hello, with and without `-k`, on a Core i3. " +
        "Published: F# 3,500 and 1,000 requests/s, IIS and HttpListener 2,500 and 500, Haskell's warp 3,500 and 3,500, node on Windows 800 and 400.");

    public static void Run(Bench bench, Section section)
    {
        var own = bench.StartFastCgi(bench.Setup.NewUnix());
        var raw = bench.StartFastCgi(bench.Setup.NewUnix(), "--raw", "true");
        var listener = bench.StartListener(Setup.NewTcp());
        Row[] rows =
        [
            new("FastCgi.AspNetCore behind nginx", bench.Setup.StartNginx(own, isFastCgi: true)),
            new("the same, below ASP.NET Core", bench.Setup.StartNginx(raw, isFastCgi: true)),
            new("HttpListener behind nginx", bench.Setup.StartNginx(listener, isFastCgi: false)),
            new("HttpListener, direct", listener),
            new("Kestrel, direct", bench.StartKestrel(Setup.NewTcp())),
            new("Kestrel, direct, below ASP.NET Core", bench.StartKestrel(Setup.NewTcp(), "--raw", "true")),
        ];
        var requests = bench.Choose(10_000, 5_000);
        foreach (var row in rows)
            bench.WarmUp(row.Server, "/");
        for (var round = 0; round < bench.Choose(5, 2); round++)
        {
            foreach (var row in rows)
            {
                Measure(bench, row, row.Kept, requests, keepAlive: true);
                Measure(bench, row, row.Single, requests, keepAlive: false);
            }
        }

        section.Add($"`ab -k -c 1000 -n {requests}`, a warm server, mean and standard deviation of {bench.Choose(5, 2)} rounds. *Below ASP.NET Core* is a " +
            "raw `IHttpApplication`, as near to the F# server as a handler can be.");
        section.AddTable(["", "kept, requests/s", "not kept, requests/s", "not kept ÷ kept", "longest ms", "failed"],
            [.. rows.Select(static row => (string[])[row.Name, Text(row.Kept), Text(row.Single), Figures.Number(row.Share), Figures.Number(row.Longest),
            row.Failure ?? $"{row.Failed}"]),
             ["published: F# sockets", "3,500", "1,000", "0.29", "", ""],
             ["published: IIS, HttpListener", "2,500", "500", "0.20", "", ""],
                 ["published: warp", "3,500", "3,500", "1.00", "", ""]]);
        section.Add(bench.Picture(section.Name, "hello, 1,000 connections", "requests/s",
            [.. rows.SelectMany(static (row, i) => new[]
            {
                ($"{row.Name}, kept", row.Kept.Any ? row.Kept.Mean : double.NaN,
                    i < 2 ? BarPicture.Kind.Ours : BarPicture.Kind.Other),
                ($"{row.Name}, not kept", row.Single.Any ? row.Single.Mean : double.NaN,
                    i < 2 ? BarPicture.Kind.Ours : BarPicture.Kind.Other),
            }), ("published: F# sockets, kept", 3_500, BarPicture.Kind.Published), ("published: F# sockets, not kept", 1_000, BarPicture.Kind.Published)]));
        var (ours, behind, direct) = (rows[0], rows[2], rows[3]);
        section.AtMost("failed requests", ours.Failed + rows[1].Failed, 0);
        section.AtLeast("requests/s, not kept ÷ kept", ours.Share, 1 / 3.0);
        foreach (var (other, name) in new[] { (behind, "HttpListener behind nginx"), (direct, "HttpListener, direct, without a web server") })
        {
            // A server that fails under the load counts as beaten.
            if (other.Kept.Any)
                section.AtLeast($"kept: ours ÷ {name}", ours.Kept.Mean / other.Kept.Mean, 1);
            if (other.Single.Any)
                section.AtLeast($"not kept: ours ÷ {name}", ours.Single.Mean / other.Single.Mean, 1);
        }

        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"1,000 connections through nginx: {ours.Kept.Mean:#,0} requests/s with keep-alive and {ours.Single.Mean:#,0} without; " +
            $"with a raw `IHttpApplication`, {rows[1].Kept.Mean:#,0} and {rows[1].Single.Mean:#,0}; " +
            $"HttpListener behind nginx, {Text(behind.Kept)} and {Text(behind.Single)}");
    }

    private static void Measure(Bench bench, Row row, Figures figures, int requests, bool keepAlive)
    {
        try
        {
            var result = bench.Load(row.Server, "/", requests, 1_000, keepAlive);
            figures.Add(result.Rate);
            row.Failed += result.Failed;
            row.Longest = Math.Max(row.Longest, result.Longest);
        }
        catch (InvalidOperationException e) when (!row.Name.StartsWith("FastCgi", StringComparison.Ordinal))
        {
            row.Failure = e.Message.Replace("|", "", StringComparison.Ordinal);
        }
    }

    private static string Text(Figures figures) => figures.Any ? figures.ToString() : "fails";

    private sealed record Row(string Name, ServerProcess Server)
    {
        public Figures Kept { get; } = new();

        public Figures Single { get; } = new();

        public double Longest { get; set; }

        public long Failed { get; set; }

        public string? Failure { get; set; }

        public double Share => Kept.Any && Single.Any ? Single.Mean / Kept.Mean : double.NaN;
    }
}
