using System.Globalization;
using System.Text;

namespace SideBySide.Driver.Startup;

/// <summary>
/// The cost of a request in the first seconds after a server is ready, while the runtime compiles its code. The servers
/// start in turn, and each is under load for one window after another.
/// </summary>
internal sealed class StartWindows(string title, Setup setup, int rate, string figure, Bound bound)
{
    private const int Connections = 30;
    private const string Kestrel = "Kestrel, HTTP";
    private const string Own = "FastCgi.AspNetCore";
    private const string Floor = "floor, C";

    private static readonly (int From, int To)[] s_windows = [(0, 1), (1, 2), (2, 4), (4, 8), (8, 16)];

    private readonly (int From, int To)[] _windows = setup.Settings.IsQuick ? s_windows[..4] : s_windows;
    private readonly Dictionary<string, List<Sample[]>> _rounds = [];

    public string Title => title;

    /// <summary>Whether its curves are in the chart. If so, the floor is measured too.</summary>
    public bool IsForPicture { get; init; }

    /// <summary>Measures all rounds, and formats the table.</summary>
    public string Run(Report report)
    {
        string[] names = IsForPicture && !setup.Settings.IsQuick ? [Kestrel, Own, Floor] : [Kestrel, Own];
        try
        {
            for (var round = 0; round < setup.Settings.Rounds; round++)
            {
                foreach (var name in names)
                    Measure(name);
            }
        }
        catch (Exception e)
        {
            setup.StopAll();
            Console.Error.WriteLine($"{title}: {e}");
            report.Add(figure, double.NaN, bound);
            return $"### {title}\n\nNot measured: {e.Message}\n\n";
        }

        var ratios = Enumerable.Range(0, _windows.Length)
            .Select(i => Ratio(i, static sample => sample.ServerCpu))
            .ToArray();
        var worst = Array.IndexOf(ratios, ratios.Max());
        report.Add(
            $"{figure}; the worst is {Name(worst)}",
            ratios[worst],
            bound,
            _rounds[Own].Sum(static round => round.Sum(static window => window.Errors)));
        if (IsForPicture)
            AddPoints(report);
        return Format(names, ratios);
    }

    private void Measure(string name)
    {
        var at = Setup.NewTcp();
        var server = name == Floor
            ? setup.Start(at, "floor", $"{at.Port}")
            : setup.StartPackaged("minimal", at, isFastCgi: name == Own);
        var windows = new Sample[_windows.Length];
        for (var i = 0; i < windows.Length; i++)
        {
            var (seconds, before) = (_windows[i].To - _windows[i].From, server.CpuTime);
            var sample = name == Kestrel ? LoadHttp(server, seconds) : LoadFastCgi(server, seconds);
            // The driver's clock measures both, including what the server does between two requests and after the last.
            windows[i] = sample with { ServerCpu = (server.CpuTime - before) / sample.Requests };
        }

        if (!_rounds.TryGetValue(name, out var rounds))
            _rounds.Add(name, rounds = []);
        rounds.Add(windows);
        setup.StopAll();
        Console.Error.WriteLine($"{title} | {name} | {string.Join(" | ", windows.Select(Cells))}");
    }

    private Sample LoadHttp(ServerProcess server, int seconds) =>
        Generators.Read(
            setup.Load.StartHttp(new HttpLoad(server.EndPoint, "/") { Rate = rate }, Connections, seconds).End());

    private Sample LoadFastCgi(ServerProcess server, int seconds)
    {
        string[] options = rate > 0 ? ["--rate", rate.ToString(CultureInfo.InvariantCulture)] : [];
        return Generators.Read(setup.Load.StartFastCgi(server, Connections, seconds, options).End());
    }

    private double Ratio(int window, Func<Sample, double> quantity) =>
        Sample.Middle(
            _rounds[Own].Zip(_rounds[Kestrel], (own, kestrel) => quantity(own[window]) / quantity(kestrel[window])));

    private void AddPoints(Report report)
    {
        foreach (var (name, rounds) in _rounds)
        {
            for (var i = 0; i < _windows.Length; i++)
                report.AddPoint(name, (_windows[i].From + _windows[i].To) / 2.0, MedianOf(rounds, i).ServerCpu);
        }
    }

    private string Format(string[] names, double[] ratios)
    {
        var table = new StringBuilder();
        table.Append(CultureInfo.InvariantCulture, $"### {title}\n\n| after the start |");
        foreach (var name in names)
            table.Append(CultureInfo.InvariantCulture, $" {name}: CPU-µs/request | requests/s | p99 ms |");
        table.Append(" CPU ratio | p99 ratio | errors |\n|---|");
        table.Insert(table.Length, "--:|", names.Length * 3 + 3);
        table.Append('\n');
        for (var i = 0; i < _windows.Length; i++)
        {
            var medians = names.Select(name => MedianOf(_rounds[name], i)).ToArray();
            table.Append(CultureInfo.InvariantCulture,
                $"| {Name(i)} | {string.Join(" | ", medians.Select(Cells))} | {ratios[i]:0.00} | {Ratio(i, static sample => sample.P99):0.00} | {medians.Sum(static median => median.Errors)} |\n");
        }

        return table.Append('\n').ToString();
    }

    private static Sample MedianOf(List<Sample[]> rounds, int window)
        => Sample.Median([.. rounds.Select(round => round[window])]);

    private string Name(int window) => $"{_windows[window].From}–{_windows[window].To} s";

    private static string Cells(Sample sample) =>
        string.Create(
            CultureInfo.InvariantCulture, $"{sample.ServerCpu:0.0} | {sample.Rate:#,0} | {sample.P99 / 1000:0.0}");
}
