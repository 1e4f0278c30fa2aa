using System.Globalization;

namespace SideBySide.Driver.Cases;

/// <summary>
/// The memory that the server allocates for a request, without a socket and with the smallest application.
/// </summary>
internal static class AllocationCases
{
    public static IEnumerable<Comparison> Make(Setup setup)
    {
        const string Get = "GET";
        const string Post = "POST of 1 KiB";
        static double Bytes(Sample sample) => sample.Memory;
        yield return new Comparison("allocated by the server; memory is bytes for a request",
            new Contender(Get, () => Measure(setup, "get")),
            new Contender(Post, () => Measure(setup, "post")))
        {
            Targets =
            [
                // Each request has new objects, so that a kept one cannot affect the next.
                new Target("allocated for a GET, bytes", Get, null, Bytes, Bound.BytesAtMost(1_304)),
                new Target("allocated for a POST of 1 KiB, bytes", Post, null, Bytes, Bound.BytesAtMost(1_640)),
            ],
            MostRounds = 1,
        };
    }

    private static Sample Measure(Setup setup, string request)
    {
        var report = new Generators.Running(
            setup.Settings.ServerCores, "dotnet", [], [setup.Settings.Benchmarks, "--allocated", request]).End();
        return new Sample { Memory = double.Parse(report, CultureInfo.InvariantCulture) };
    }
}
