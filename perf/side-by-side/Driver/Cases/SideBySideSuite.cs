namespace SideBySide.Driver.Cases;

/// <summary>All tables of warm servers side by side.</summary>
internal static class SideBySideSuite
{
    public static void Run(Setup setup, Report report)
    {
        var settings = setup.Settings;
        IEnumerable<Comparison>[] groups = settings.IsPages ? [PageCases.Make(setup)] :
        [
            DirectCases.Make(setup), PageCases.Make(setup), LoopCases.Make(setup), HeaderCases.Make(setup),
            NginxCases.Make(setup), ApplicationCases.Make(setup), NewPathCases.Make(setup),
            WaitingCases.Make(setup), AllocationCases.Make(setup), StatusCases.Make(setup),
        ];
        foreach (var comparison in groups.SelectMany(static group => group))
        {
            if (settings.Includes(comparison.Title) && (comparison.HasTarget || !settings.IsQuick))
                Console.Write(comparison.Run(settings, report));
        }

        if (!settings.IsQuick && !settings.IsPages && settings.Includes(CostNotes.Title))
            Console.Write(CostNotes.Make(setup));
        if (settings.Images.Length > 0)
        {
            Console.Write(new Picture("hello, direct, TCP", "connections", "CPU-µs/request").Write(
                Path.Combine(settings.Images, "connections.svg"),
                report.Curves("FastCgi.AspNetCore", "Kestrel, HTTP", "floor, C")));
        }
    }
}
