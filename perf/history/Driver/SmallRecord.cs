using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>Mono's FastCGI server against IIS on a small machine.</summary>
internal static class SmallRecord
{
    // The published five times of 1,000 requests take less than a second each, and deviate by 30 %.
    private const int Times = 25;
    private const int WarmUps = 3;

    public static Section Describe() => new("small", "Mono against IIS on a small machine (2018)",
        "Source: [enburg.rocks, June 2018](https://www.enburg.rocks/2018/06/fastcgi-mono-server-outperforms-iis.html). A shop page with 50 rows of a local " +
        "database, one processor, 1 GiB, " +
        "`ab` five times 1,000 requests, sequential and 10 at a time. Published: nginx and fastcgi-mono-server4 50.1 and 48.0 requests/s (a loss of 4.1 %), " +
        "IIS 36.3 and 38.1.");

    public static void Run(Bench bench, Section section)
    {
        using var machine = new SmallMachine(SmallMachine.FindDatabase());
        var settings = bench.Settings with { ServerCores = SmallMachine.Processor, LoadCores = SmallMachine.Processor };
        using var setup = new Setup(settings);
        var small = new Bench(settings, setup);
        string[] options = ["--database", Setup.Database];
        var (own, kestrel) = (
            small.StartFastCgi(setup.NewUnix(), options), small.StartKestrel(setup.NewUnix(), options));
        Row[] rows =
        [
            new("FastCgi.AspNetCore", own, setup.StartNginx(own, isFastCgi: true)),
            new("Kestrel behind nginx", kestrel, setup.StartNginx(kestrel, isFastCgi: false)),
        ];
        // One processor also runs the compiler: each server is warmed up while the other is idle.
        for (var time = 0; time < WarmUps; time++)
        {
            foreach (var row in rows)
                small.WarmUp(row.Nginx, "/products");
        }

        var requests = bench.Choose(3_000, 200);
        foreach (var (connections, figuresOf) in new[] { (1, (Func<Row, Figures>)(static row => row.Sequential)), (10, static row => row.Concurrent) })
        {
            for (var time = 0; time < Times; time++)
            {
                foreach (var row in rows)
                {
                    var result = small.Load(row.Nginx, "/products", requests, connections);
                    row.Failed += result.Failed;
                    figuresOf(row).Add(result.Rate);
                }
            }
        }

        section.Add($"A page with 50 rows from PostgreSQL: {machine.Description}. `ab -n {requests}`, {Times} times in turns, warm servers; mean and " +
            "standard deviation. The deviation of the means is at most " +
            $"{Figures.Number(rows.Max(static row => Math.Max(row.Sequential.Error, row.Concurrent.Error)))} %.");
        section.AddTable(
            ["", "sequential, requests/s", "10 at a time, requests/s", "loss", "resident memory, MiB", "failed"],
            [.. rows.Select(static row => (string[])[row.Name, $"{row.Sequential}", $"{row.Concurrent}", $"{Loss(row):0.0} %",
                Figures.Number(row.Server.Memory / 1024), $"{row.Failed}"]),
                 ["published: nginx and fastcgi-mono-server4", "50.1", "48.0", "4.1 %", "", ""],
                 ["published: IIS", "36.3", "38.1", "−5.0 %", "", ""]]);
        section.Add(bench.Picture(section.Name, "page with 50 rows, one processor, 1 GiB", "requests/s",
            [.. rows.SelectMany(static (row, i) => new[]
            {
                ($"{row.Name}, sequential", row.Sequential.Mean, i == 0 ? BarPicture.Kind.Ours : BarPicture.Kind.Other),
                ($"{row.Name}, 10 at a time", row.Concurrent.Mean, i == 0 ? BarPicture.Kind.Ours : BarPicture.Kind.Other),
            }), ("published: Mono, sequential", 50.1, BarPicture.Kind.Published), ("published: IIS, sequential", 36.3, BarPicture.Kind.Published)]));
        section.AtLeast(
            "sequential: ours ÷ Kestrel behind nginx", rows[0].Sequential.MedianRatioTo(rows[1].Sequential), 1);
        section.AtLeast(
            "10 at a time: ours ÷ Kestrel behind nginx", rows[0].Concurrent.MedianRatioTo(rows[1].Concurrent), 1);
        section.AtMost("loss from 1 to 10 at a time, %", Loss(rows[0]), 4);
        section.AtMost("failed requests", rows[0].Failed, 0);
        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"a page with 50 database rows on one processor and 1 GiB: {rows[0].Sequential.Mean:#,0} requests/s sequentially, " +
            $"{rows[0].Concurrent.Mean:#,0} with 10 at a time; Kestrel behind nginx: {rows[1].Sequential.Mean:#,0} and {rows[1].Concurrent.Mean:#,0}");
    }

    private static double Loss(Row row) => (1 - (row.Concurrent.Mean / row.Sequential.Mean)) * 100;

    private sealed record Row(string Name, ServerProcess Server, ServerProcess Nginx)
    {
        public Figures Sequential { get; } = new();

        public Figures Concurrent { get; } = new();

        public long Failed { get; set; }
    }
}
