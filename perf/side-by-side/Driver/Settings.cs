using System.Globalization;
using System.Text.RegularExpressions;

namespace SideBySide.Driver;

/// <summary>The command-line options.</summary>
internal sealed record Settings
{
    /// <summary>Whether to measure the time after startup, instead of servers side by side.</summary>
    public bool IsStartup { get; init; }

    /// <summary>The folder with the compiled programs.</summary>
    public required string Tools { get; init; }

    /// <summary>The folder with the published site that has a page for each case.</summary>
    public required string Site { get; init; }

    /// <summary>The folder with the same site and another build of the server, for comparison; or empty.</summary>
    public required string Against { get; init; }

    /// <summary>Whether to measure only the pages that need nothing but the site.</summary>
    public bool IsPages { get; init; }

    /// <summary>The folder of the sites that use the server's package: minimal, and those from templates.</summary>
    public required string PackagedSites { get; init; }

    /// <summary>The program that measures the memory that a request allocates.</summary>
    public required string Benchmarks { get; init; }

    /// <summary>How often each figure is measured; the tables show the medians.</summary>
    public required int Rounds { get; init; }

    /// <summary>The duration of a measurement.</summary>
    public required double Seconds { get; init; }

    /// <summary>The length of a warm-up period.</summary>
    public required double WarmUpSeconds { get; init; }

    /// <summary>The processors of the servers and nginx, as taskset takes them.</summary>
    public required string ServerCores { get; init; }

    /// <summary>The processors of the load generators.</summary>
    public required string LoadCores { get; init; }

    /// <summary>Whether to measure only what the table of targets needs, in short runs.</summary>
    public bool IsQuick { get; init; }

    /// <summary>The machine and the commit, in words.</summary>
    public required string Machine { get; init; }

    /// <summary>The folder for pictures; none are made if it is empty.</summary>
    public required string Images { get; init; }

    /// <summary>A regular expression that selects tables by title; all if empty.</summary>
    public required string Only { get; init; }

    public static Settings Parse(string[] arguments)
    {
        string Get(string name, string other)
        {
            var at = Array.IndexOf(arguments, "--" + name);
            return at >= 0 && at + 1 < arguments.Length ? arguments[at + 1] : other;
        }

        var isQuick = arguments.Contains("--quick");
        var isStartup = arguments.Contains("--startup");
        var all = $"0-{Environment.ProcessorCount - 1}";
        return new Settings
        {
            IsStartup = isStartup,
            Tools = Get("tools", "."),
            Site = Get("site", "."),
            Against = Get("against", ""),
            IsPages = arguments.Contains("--pages"),
            PackagedSites = Get("packaged-sites", "."),
            Benchmarks = Get("benchmarks", "."),
            Rounds = int.Parse(Get("rounds", !isQuick ? "5" : isStartup ? "2" : "3"), CultureInfo.InvariantCulture),
            Seconds = double.Parse(Get("seconds", isQuick ? "1" : "2"), CultureInfo.InvariantCulture),
            // On one processor, shared with the load, the just-in-time compiler takes this long to reach its last tier.
            WarmUpSeconds = double.Parse(Get("warm-up", isQuick ? "4" : "8"), CultureInfo.InvariantCulture),
            ServerCores = Get("server-cores", all),
            LoadCores = Get("load-cores", all),
            IsQuick = isQuick,
            Machine = Get("machine", ""),
            Images = Get("images", ""),
            Only = Get("only", ""),
        };
    }

    /// <summary>Whether a table of this title is wanted.</summary>
    public bool Includes(string title) => Regex.IsMatch(title, Only);
}
