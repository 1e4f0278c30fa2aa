namespace SideBySide.Driver.Startup;

/// <summary>The time after the start of a site that uses the server's package.</summary>
internal static class StartupSuite
{
    public static void Run(Setup setup, Report report)
    {
        var settings = setup.Settings;
        foreach (var comparison in FirstAnswerCases.Make(setup))
        {
            if (settings.Includes(comparison.Title) && (comparison.HasTarget || !settings.IsQuick))
                Console.Write(comparison.Run(settings, report));
        }

        using var one = new Setup(settings with { ServerCores = "0", LoadCores = "1" });
        using var two = new Setup(settings with { ServerCores = "0-1", LoadCores = "0-1" });
        foreach (var windows in Windows(one, two))
        {
            if (settings.Includes(windows.Title))
                Console.Write(windows.Run(report));
        }

        if (settings.Images.Length > 0)
        {
            Console.Write(new Picture("hello, direct, TCP, 30 connections, after the start", "seconds after the start", "CPU-µs/request").Write(
                Path.Combine(settings.Images, "after-the-start.svg"),
                report.Curves("FastCgi.AspNetCore", "Kestrel, HTTP", "floor, C")));
        }
    }

    private static IEnumerable<StartWindows> Windows(Setup one, Setup two)
    {
        foreach (var (setup, processors, bound) in new[] { (one, "one processor", Bound.AtMost(1.0)), (two, "two processors", Bound.AtMost(0.9)) })
        {
            foreach (var (rate, load) in new[] { (0, "as many requests as possible"), (500, "500 requests/s") })
            {
                yield return new StartWindows(
                    $"after the start, {processors}, {load}; hello, direct, TCP, 30 connections",
                    setup,
                    rate,
                    $"any window after the start, {processors}, {load}, relative to Kestrel in the same window", bound)
                {
                    IsForPicture = setup == two && rate == 0,
                };
            }
        }
    }
}
