using System.Diagnostics;
using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>Mono's failure after 160,000 requests of a page that makes a session each time.</summary>
internal static class SessionRecord
{
    private const int Step = 20_000;

    public static Section Describe() => new("session", "The failure after 160,000 requests (2013)",
        "Source: [forcedtoadmin.blogspot.com, December 2013](http://forcedtoadmin.blogspot.com/2013/12). `ab -n 200000` on a page with a session, without " +
        "cookies: mod_mono stops answering " +
        "after about 160,000 requests, because its cache of 15,000 objects evicts compiled pages too. Here the session cache is limited to about as many " +
        "sessions.");

    public static void Run(Bench bench, Section section)
    {
        var (first, second) = (bench.Choose(200_000, 20_000), bench.Choose(2_000_000, 100_000));
        var server = bench.StartFastCgi(bench.Setup.NewUnix(), "--session", "true");
        var nginx = bench.Setup.StartNginx(server, isFastCgi: true);
        bench.WarmUp(nginx, "/session");
        var rows = new List<string[]>();
        AddRow("after warm-up", null);
        var one = bench.Load(nginx, "/session", first, 10);
        var before = AddRow($"`ab -n {first}`", one);
        var curve = new List<(double Requests, double Rate)>();
        using var stop = new CancellationTokenSource();
        var watch = Task.Run(() => Watch(server, curve, stop.Token));
        var two = bench.Load(nginx, "/session", second, 30, keepAlive: true);
        stop.Cancel();
        watch.Wait();
        // After its last request, ab computes its statistics while the server waits.
        curve.RemoveAll(sample => sample.Requests >= second);
        var after = AddRow($"`ab -k -n {second}`", two);

        section.AddTable(["", "requests/s", "longest ms", "failed", "managed heap, KiB", "open files"], rows);
        var (start, end) = (RateAt(curve, 0), RateAt(curve, curve.Count == 0 ? 0 : curve[^1].Requests - Step));
        section.Add(string.Create(CultureInfo.InvariantCulture,
            $"Requests/s of the first and the last {Step:#,0} of the long run: {start:#,0} and {end:#,0}."));
        section.Add(new Picture("session page without cookies", "requests of the long run", "requests/s").Write(
            Path.Combine(bench.Settings.Images, section.Name + ".svg"),
            [("FastCgi.AspNetCore", Points(curve))]).Trim());
        section.AtMost($"{first:#,0} requests: failed", one.Failed, 0);
        section.AtMost($"{second:#,0} requests: failed", two.Failed, 0);
        section.AtLeast($"requests/s of the last {Step:#,0} ÷ the first", end / start, 0.9);
        section.AtMost("managed heap after the long run ÷ before it", after / before, 1.2);
        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"{first + second:#,0} requests without cookies for a page with a session: {one.Failed + two.Failed} failed; at the end, the rate is " +
            $"{end / start:0.00} × that of the first {Step:#,0} requests");

        double AddRow(string name, AbResult? result)
        {
            var heap = Bench.ReadFigures(server, isFastCgi: true, collect: true)[2] / 1024;
            var files = Directory.GetFiles($"/proc/{server.Id}/fd").Length;
            rows.Add([name, result is null ? "" : Figures.Number(result.Rate), result is null ? "" : Figures.Number(result.Longest), result is null ? ""
                : $"{result.Failed}",
                Figures.Number(heap), $"{files}"]);
            return heap;
        }
    }

    private static void Watch(ServerProcess server, List<(double Requests, double Rate)> curve, CancellationToken stop)
    {
        var clock = Stopwatch.StartNew();
        var (served, from) = (Bench.ReadFigures(server, isFastCgi: true, collect: false)[1], clock.Elapsed);
        var start = served;
        while (!stop.WaitHandle.WaitOne(500))
        {
            var (now, at) = (Bench.ReadFigures(server, isFastCgi: true, collect: false)[1], clock.Elapsed);
            curve.Add((now - start, (now - served) / (at - from).TotalSeconds));
            (served, from) = (now, at);
        }
    }

    /// <summary>
    /// The rate while these requests were answered, without the first sample, which ab does not fill.
    /// </summary>
    private static double RateAt(List<(double Requests, double Rate)> curve, double from)
    {
        var inside = curve.Skip(1).Where(sample => sample.Requests >= from && sample.Requests <= from + (2 * Step)).Select(static sample =>
            sample.Rate).ToArray();
        return inside.Length > 0 ? inside.Average() : double.NaN;
    }

    /// <summary>No more points than a picture shows.</summary>
    private static List<(double X, double Y)> Points(List<(double Requests, double Rate)> curve)
    {
        var points = new List<(double, double)>();
        foreach (var (requests, rate) in curve.Skip(1))
        {
            if (points.Count == 0 || requests > points[^1].Item1 * 1.2)
                points.Add((requests, rate));
        }

        return points;
    }
}
