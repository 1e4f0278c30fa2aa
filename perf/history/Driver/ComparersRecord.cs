using System.Globalization;
using SideBySide.Driver;

namespace History.Driver;

/// <summary>HyperFastCgi's measurement of string comparers.</summary>
internal static class ComparersRecord
{
    private const string Ordinal = "Dictionary, ordinal, ignore case";
    private const int Headers = 9;

    public static Section Describe() => new("comparers", "Comparers of header names (2013)",
        "Source: [forcedtoadmin.blogspot.com, December 2013](http://forcedtoadmin.blogspot.com/2013/12). 100,000 entries added and read, on Mono: 15 to 20 " +
        "s with a culture's comparer, " +
        "58 ms (Hashtable) and 46 ms (Dictionary) with an ordinal one, 73 ms with one that ignores case.");

    public static void Run(Bench bench, Section section)
    {
        var nginx = bench.Setup.StartNginx(bench.StartFastCgi(bench.Setup.NewUnix()), isFastCgi: true);
        var kestrel = bench.StartKestrel(Setup.NewTcp());
        string[] text =
        [
            .. Read(nginx),
            .. Read(kestrel).Where(static line => line.StartsWith("Kestrel", StringComparison.Ordinal)),
        ];
        var lines = text.Select(static line => line.Split(';')).ToArray();
        section.Add("Best of several rounds on .NET 10. The look-up reads each of the 9 headers of a browser's request. A Dictionary of headers must be " +
            "filled for each request first; " +
            "FastCgi.AspNetCore looks a header up in the params it received, and makes no dictionary.");
        section.AddTable(
            ["", "100,000 added and read, ms", "9 headers filled in, ns", "look-up of a header, ns"], lines);
        var costs = lines.ToDictionary(
            static line => line[0], static line => double.Parse(line[3], CultureInfo.InvariantCulture));
        var (own, ordinal, culture) = (
            costs["FastCgi.AspNetCore, request.Headers"],
            costs[Ordinal],
            costs["Dictionary, culture (en-US), ignore case"]);
        var filled = double.Parse(lines.Single(static line => line[0] == Ordinal)[2], CultureInfo.InvariantCulture);
        section.Add(bench.Picture(section.Name, "look-up of a request header", "ns",
            costs.Select(static cost => (cost.Key, cost.Value, cost.Key.StartsWith("FastCgi", StringComparison.Ordinal) ? BarPicture.Kind.Ours
                : BarPicture.Kind.Other))));
        section.AtMost(
            "all 9 headers read: ours ÷ a Dictionary, ordinal, ignore case, filled and read",
            Headers * own / (filled + (Headers * ordinal)),
            1);
        section.AtMost("look-up: ours ÷ Kestrel's", own / costs["Kestrel, request.Headers"], 1);
        section.AtMost("look-up: ours ÷ culture, ignore case", own / culture, 0.5);
        section.Line = string.Create(CultureInfo.InvariantCulture,
            $"a header lookup takes {own:0.0} ns; in a Dictionary, {ordinal:0.0} ns with a case-insensitive ordinal comparer and {culture:0.0} ns with a " +
            $"culture-sensitive one");
    }

    private static string[] Read(ServerProcess server)
        => Bench.Get(server.EndPoint, "/comparers").Split('\n', StringSplitOptions.RemoveEmptyEntries);
}
