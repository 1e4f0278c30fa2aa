using System.Diagnostics;
using System.Globalization;
using System.Text.Json.Nodes;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>Helios: the managed memory of waiting requests, and the time spent in garbage collection.</summary>
internal static class HeldRecord
{
    // The parameters that fcgiload sends: those that nginx sends for a browser's GET.
    private const double ParamsBytes = 936;

    public static Section Describe() => new("held", "Helios: held requests (2014)",
        "Source: [Supplemental to ASP.NET Project “Helios”](https://devblogs.microsoft.com/dotnet/supplemental-to-asp-net-project-helios/). 50,000 requests " +
        "wait for a task that never ends; " +
        "managed bytes after a collection ÷ 50,000: 28.9 KiB on System.Web, 1.04 KiB on Helios (IIS keeps the server variables in unmanaged memory, which " +
        "is not counted). " +
        "Time in the collector, hello: 2.0 % and 0.06 %.");

    public static void Run(Bench bench, Section section)
    {
        // The server reserves up to 1,024 descriptors for threads and files, and has several hundred open.
        var connections = Math.Min(bench.Choose(19_000, 2_000), ReadDescriptorLimit() - 1_600);
        var multiplexed = bench.Choose(500, 50);
        Row[] rows =
        [
            MeasureFastCgi(bench, "FastCgi.AspNetCore, multiplexed", multiplexed, 100),
            MeasureFastCgi(bench, "the same, below ASP.NET Core", multiplexed, 100, "--raw", "true"),
            MeasureFastCgi(bench, "FastCgi.AspNetCore, own connection", connections, 1),
            MeasureFastCgi(bench, "the same, below ASP.NET Core", connections, 1, "--raw", "true"),
            MeasureKestrel(bench, "Kestrel, own connection", connections),
            MeasureKestrel(bench, "the same, below ASP.NET Core", connections, "--raw", "true"),
        ];
        section.Add("`GC.GetTotalMemory(true)` while all requests wait, minus before, for each request. *Below ASP.NET Core* is a raw `IHttpApplication`: " +
            "no `HttpContext`, hosting or routing. " +
            "*Own share* is that figure without the bytes of the request's params, 936, which Helios does not count either. " +
            "With a connection for each request it has the connection too; IIS leaves that to the kernel.");
        section.AddTable(["", "requests", "managed bytes", "own share, bytes", "own share, KiB", "missing"], rows.Select(static (row, i) => (string[])
        [
            row.Name, row.Requests.ToString("#,0", CultureInfo.InvariantCulture), Figures.Number(row.Bytes),
            i is 1 or 3 ? Figures.Number(row.Bytes - ParamsBytes) : "",
            i is 1 or 3 ? Figures.Number((row.Bytes - ParamsBytes) / 1024) : "", $"{row.Missing}",
        ]));
        section.Add(bench.Picture(section.Name, "managed memory of a held request", "bytes",
        [
            ("ours, multiplexed", rows[0].Bytes, BarPicture.Kind.Ours),
            ("ours, multiplexed, own share", rows[1].Bytes - ParamsBytes, BarPicture.Kind.Ours),
            ("ours, own connection", rows[2].Bytes, BarPicture.Kind.Ours),
            ("Kestrel, own connection", rows[4].Bytes, BarPicture.Kind.Other),
            ("published: Helios", 1_065, BarPicture.Kind.Published),
            ("published: System.Web", 29_594, BarPicture.Kind.Published),
        ]));
        section.AtMost(
            $"{rows[1].Requests:#,0} multiplexed: own share, KiB", (rows[1].Bytes - ParamsBytes) / 1024, 1.04);
        section.AtMost(
            $"{rows[3].Requests:#,0} connections: own share with the connection, KiB",
            (rows[3].Bytes - ParamsBytes) / 1024,
            1.04);
        section.AtMost(
            $"{rows[0].Requests:#,0} multiplexed: total ÷ Kestrel's", rows[0].Bytes / rows[4].Bytes, 1 / 3.0);
        section.AtMost(
            $"{rows[2].Requests:#,0} connections: total ÷ Kestrel's", rows[2].Bytes / rows[4].Bytes, 1 / 3.0);
        section.AtMost("held requests missing", rows.Take(4).Sum(static row => row.Missing), 0);
        var (paced, full) = MeasureCollector(bench, section);
        section.AtMost("time in the collector at 1,000 requests/s, %", paced, 0.06);
        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"a waiting request uses {rows[0].Bytes:#,0} managed bytes ({rows[0].Requests:#,0} multiplexed), of which the server's own share is " +
            $"{(rows[1].Bytes - ParamsBytes) / 1024:0.00} KiB; " +
            $"on Kestrel, {rows[4].Bytes:#,0} bytes; garbage collection takes {paced:0.000} % of the time at 1,000 requests/s, {full:0.00} % at full load");
    }

    private static int ReadDescriptorLimit()
        => int.Parse(File.ReadLines("/proc/self/limits").Single(static line => line.StartsWith("Max open files", StringComparison.Ordinal))
            .Split(' ', StringSplitOptions.RemoveEmptyEntries)[3], CultureInfo.InvariantCulture);

    private static Row MeasureFastCgi(
        Bench bench, string name, int connections, int multiplexed, params string[] options)
    {
        var server = bench.StartFastCgi(bench.Setup.NewUnix(), options);
        for (var i = 0; i < 3; i++)
            bench.Setup.Load.StartFastCgi(server, 100, 0, "--hold", "0.2", "--path", "/hold").End();
        var wanted = connections * multiplexed;
        var before = Bench.ReadFigures(server, isFastCgi: true, collect: true);
        var load = bench.Setup.Load.StartFastCgi(
            server,
            connections,
            0,
            "--hold",
            bench.Settings.IsQuick ? "4" : "10",
            "--mux",
            $"{multiplexed}",
            "--path", "/hold");
        var after = WaitForHeld(server, before[0] + wanted, isFastCgi: true);
        var report = JsonNode.Parse(load.End())!;
        bench.Setup.StopAll();
        Bench.Log($"{name}: {(after[2] - before[2]) / wanted:0} bytes");
        return new Row(name, wanted, (after[2] - before[2]) / wanted, wanted - (long)report["outstanding"]!);
    }

    private static Row MeasureKestrel(Bench bench, string name, int connections, params string[] options)
    {
        var server = bench.StartKestrel(Setup.NewTcp(), options);
        for (var i = 0; i < 3; i++)
        {
            using (HttpClients.Open(server.EndPoint, "/hold", 100))
                Thread.Sleep(200);
        }

        Thread.Sleep(2_000);
        var before = Bench.ReadFigures(server, isFastCgi: false, collect: true);
        using var clients = HttpClients.Open(server.EndPoint, "/hold", connections);
        var after = WaitForHeld(server, before[0] + connections, isFastCgi: false);
        clients.Dispose();
        bench.Setup.StopAll();
        Bench.Log($"{name}: {(after[2] - before[2]) / connections:0} bytes");
        return new Row(
            name, connections, (after[2] - before[2]) / connections, (long)(before[0] + connections - after[0]));
    }

    private static double[] WaitForHeld(ServerProcess server, double held, bool isFastCgi)
    {
        var clock = Stopwatch.StartNew();
        while (Bench.ReadFigures(server, isFastCgi, collect: false)[0] < held
            && clock.Elapsed < TimeSpan.FromSeconds(60))
            Thread.Sleep(200);
        Thread.Sleep(1_000);
        return Bench.ReadFigures(server, isFastCgi, collect: true);
    }

    /// <summary>
    /// The percentage of time for which garbage collection pauses the process, at a given rate and at full load.
    /// </summary>
    private static (double Paced, double Full) MeasureCollector(Bench bench, Section section)
    {
        var seconds = bench.Choose(20, 4);
        var server = bench.StartFastCgi(bench.Setup.NewUnix());
        bench.Setup.Load.StartFastCgi(server, 30, 3).End();
        var paced = Measure(
            server, isFastCgi: true, () => bench.Setup.Load.StartFastCgi(server, 10, seconds, "--rate", "1000").End());
        var full = Measure(server, isFastCgi: true, () => bench.Setup.Load.StartFastCgi(server, 30, seconds).End());
        bench.Setup.StopAll();
        var kestrel = bench.StartKestrel(Setup.NewTcp());
        var load = new HttpLoad(kestrel.EndPoint, "/");
        bench.Setup.Load.StartHttp(load, 30, 3).End();
        var kestrelPaced = Measure(
            kestrel, isFastCgi: false, () => bench.Setup.Load.StartHttp(load with { Rate = 1_000 }, 10, seconds).End());
        var kestrelFull = Measure(kestrel, isFastCgi: false, () => bench.Setup.Load.StartHttp(load, 30, seconds).End());
        bench.Setup.StopAll();
        section.Add($"Time that the collector stops the process, hello, direct, {seconds} s:");
        section.AddTable(["", "1,000 requests/s", "full load"],
        [
            ["FastCgi.AspNetCore", Percent(paced), Percent(full)],
            ["Kestrel", Percent(kestrelPaced), Percent(kestrelFull)],
            ["published: System.Web", "", "2.0 %"], ["published: Helios", "", "0.06 %"],
        ]);
        return (paced, full);
    }

    private static double Measure(ServerProcess server, bool isFastCgi, Func<string> load)
    {
        var before = Bench.ReadFigures(server, isFastCgi, collect: false)[3];
        var clock = Stopwatch.StartNew();
        load();
        return (
            Bench.ReadFigures(server, isFastCgi, collect: false)[3] - before) / clock.Elapsed.TotalMicroseconds * 100;
    }

    private static string Percent(double value) => value.ToString("0.000", CultureInfo.InvariantCulture) + " %";

    private sealed record Row(string Name, int Requests, double Bytes, long Missing);
}
