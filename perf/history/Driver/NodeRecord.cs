using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>The table of AsyncFastCGI.NET, with node-fastcgi.</summary>
internal static class NodeRecord
{
    private const string Own = "FastCgi.AspNetCore", Node = "node-fastcgi";

    public static Section Describe() => new("node", "AsyncFastCGI.NET's table (2019)",
        "Source: [README of AsyncFastCGI.NET](https://github.com/bolner/AsyncFastCGI.NET). `ab -kc 400 -n 200000` through nginx with `keepalive 400` and " +
        "`fastcgi_request_buffering off`. " +
        "It needs a warm-up and a connection timeout of 10 s; connections that are kept halve its rate. node-fastcgi closes each connection.");

    public static void Run(Bench bench, Section section)
    {
        // One after another and without a warm-up: the first requests are part of the result.
        (string Name, bool IsKept, AbResult? Result)[] results =
        [
            Measure(bench, Own, isKept: true), Measure(bench, Own, isKept: false), Measure(bench, Node, isKept: true),
            Measure(bench, Node, isKept: false),
        ];
        string[][] published =
        [
            ["published: AsyncFastCGI.NET", "kept", "9,112", "43.9", "92.0", "0"],
            ["published: AsyncFastCGI.NET", "not kept", "19,894", "20.1", "2,044", "0"],
            ["published: node-fastcgi", "not kept", "21,411", "18.7", "1,062", "0"],
            ["published: LB FastCGI", "both", "fails", "", "", ""],
        ];
        section.Add($"`ab -kc 400 -n {Count(bench)}`, TCP, no warm-up.");
        section.AddTable(
            ["", "connections", "requests/s", "mean ms", "longest ms", "failed"],
            [.. results.Select(Cells), .. published]);
        section.Add(bench.Picture(section.Name, $"ab -kc 400 -n {Count(bench)} through nginx", "requests/s",
        [
            .. results.Select(
                static row => ($"{row.Name}, {Text(row.IsKept)}", row.Result?.Rate ?? double.NaN, KindOf(row.Name))),
            ("published: AsyncFastCGI.NET, kept", 9_112, BarPicture.Kind.Published),
            ("published: AsyncFastCGI.NET, not kept", 19_894, BarPicture.Kind.Published),
            ("published: node-fastcgi, not kept", 21_411, BarPicture.Kind.Published),
        ]));
        var (kept, single) = (results[0].Result ?? throw new InvalidOperationException("ours fails"),
            results[1].Result ?? throw new InvalidOperationException("ours fails"));
        section.AtMost("failed requests, kept and not kept", kept.Failed + single.Failed, 0);
        section.AtLeast("requests/s, kept ÷ not kept", kept.Rate / single.Rate, 1);
        section.AtMost("longest request, ms", Math.Max(kept.Longest, single.Longest), 1_000);
        if (results[3].Result is { } node)
        {
            section.AtLeast(
                "requests/s, kept ÷ the best of node-fastcgi",
                kept.Rate / Math.Max(node.Rate, results[2].Result?.Rate ?? 0),
                1);
            section.AtLeast("requests/s, not kept ÷ node-fastcgi", single.Rate / node.Rate, 1);
        }

        var other = results[3].Result is { } last
            ? string.Create(CultureInfo.InvariantCulture, $"; node-fastcgi: {last.Rate:#,0} requests/s")
            : "";
        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"`ab -kc 400 -n {Count(bench)}` without warm-up: {kept.Rate:#,0} requests/s with keep-alive and {single.Rate:#,0} without; " +
            $"the longest request took {Math.Max(kept.Longest, single.Longest):#,0} ms, {kept.Failed + single.Failed} failed{other}");
    }

    private static BarPicture.Kind KindOf(string name) => name == Own ? BarPicture.Kind.Ours : BarPicture.Kind.Other;

    private static string Text(bool isKept) => isKept ? "kept" : "not kept";

    private static string[] Cells((string Name, bool IsKept, AbResult? Result) row) => row.Result is { } result
        ?
        [
            row.Name, Text(row.IsKept), Figures.Number(result.Rate), Figures.Number(result.Mean),
            Figures.Number(result.Longest), $"{result.Failed}",
        ]
        : [row.Name, Text(row.IsKept), "fails", "", "", ""];

    private static int Count(Bench bench) => bench.Choose(200_000, 20_000);

    private static (string Name, bool IsKept, AbResult? Result) Measure(Bench bench, string name, bool isKept)
    {
        try
        {
            var at = Setup.NewTcp();
            if (name == Own)
                bench.StartFastCgi(at);
            else
                bench.Setup.Start(
                    at,
                    "node",
                    Path.Combine(bench.Settings.Tools, "node-peer.js"),
                    at.Port.ToString(CultureInfo.InvariantCulture));
            var nginx = bench.Setup.StartNginx(at, isFastCgi: true, isKept, "fastcgi_request_buffering off;");
            return (name, isKept, bench.Load(nginx, "/", Count(bench), 400, keepAlive: true));
        }
        catch (InvalidOperationException e) when (name != Own)
        {
            Bench.Log($"{name}: {e.Message}");
            return (name, isKept, null);
        }
        finally
        {
            bench.Setup.StopAll();
        }
    }
}
