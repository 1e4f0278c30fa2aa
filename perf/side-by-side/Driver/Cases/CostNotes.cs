using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace SideBySide.Driver.Cases;

/// <summary>Figures of this server without a comparison: system calls, garbage collection.</summary>
internal static class CostNotes
{
    public const string Title = "What a request costs inside";

    public static string Make(Setup setup)
    {
        var notes = new StringBuilder($"### {Title}\n\n");
        notes.Append("| | |\n|---|--:|\n");
        foreach (var (name, value) in Measure(setup))
            notes.Append(CultureInfo.InvariantCulture, $"| {name} | {value} |\n");
        return notes.Append('\n').ToString();
    }

    private static List<(string Name, string Value)> Measure(Setup setup)
    {
        var server = setup.StartFastCgi(setup.NewUnix());
        setup.Load.StartFastCgi(server, 10, 3).End();
        var calls = CountSystemCalls(setup, server);

        var before = ReadCost(server);
        var requests = ReadRequests(setup.Load.StartFastCgi(server, 10, 5, "--rate", "1000").End());
        var after = ReadCost(server);
        setup.StopAll();
        return
        [
            ("system calls for a request, 10 connections", calls),
            ("bytes allocated for a request, by server, hosting, routing and handler",
                ((after[0] - before[0]) / requests).ToString("0.0", CultureInfo.InvariantCulture)),
            ("time in the garbage collector at 1,000 requests/s",
                ((after[1] - before[1]) / 5e6).ToString("0.000 %", CultureInfo.InvariantCulture)),
        ];
    }

    private static string CountSystemCalls(Setup setup, ServerProcess server)
    {
        var file = Path.Combine(setup.Folder, "strace");
        using var trace = Process.Start(
            new ProcessStartInfo("strace", ["-f", "-c", "-q", "-o", file, "-p", $"{server.Id}"]))!;
        Thread.Sleep(TimeSpan.FromSeconds(1));
        var requests = ReadRequests(setup.Load.StartFastCgi(server, 10, 3).End());
        Process.Start("kill", ["-INT", $"{trace.Id}"]).WaitForExit();
        trace.WaitForExit();
        var total = File.ReadLines(file).Last(static line => line.EndsWith(" total", StringComparison.Ordinal));
        var count = double.Parse(
            total.Split(' ', StringSplitOptions.RemoveEmptyEntries)[3], CultureInfo.InvariantCulture);
        return (count / requests).ToString("0.00", CultureInfo.InvariantCulture);
    }

    private static double[] ReadCost(ServerProcess server)
    {
        var text = FastCgiGet.Read(server.EndPoint, "/cost");
        return [.. text.Split(' ').Select(static figure => double.Parse(figure, CultureInfo.InvariantCulture))];
    }

    private static double ReadRequests(string report)
        => Generators.Read(report).Requests;
}
