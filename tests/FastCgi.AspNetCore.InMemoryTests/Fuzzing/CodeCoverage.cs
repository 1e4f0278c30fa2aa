using System.Numerics;

namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// How often each line and branch of the library ran since the last reading, if coverlet instrumented it (see
/// tests/fuzz.sh). The counters are per process, so only one fuzzer runs at a time.
/// </summary>
internal static class CodeCoverage
{
    // Other states are hashes of 64 bits; the highest bits distinguish these.
    private const ulong Mark = 0xC0DE_0000_0000_0000;

    private static readonly int[] s_counters = FindCounters() ?? [];

    /// <summary>The lines and branches; 0 where the library is not instrumented.</summary>
    public static int Count => s_counters.Length;

    /// <summary>Records which lines and branches have run, and how often: 1, 2, 4, 8 times, and so on.</summary>
    public static void VisitAll(StateFeedback feedback)
    {
        for (var i = 0; i < s_counters.Length; i++)
        {
            if (s_counters[i] == 0)
                continue;

            feedback.Visit(Mark | ((ulong)i << 6) | (uint)BitOperations.Log2((uint)s_counters[i]));
            s_counters[i] = 0;
        }
    }

    private static int[]? FindCounters()
    {
        var tracker = typeof(FastCgiServerOptions).Assembly.GetTypes()
            .FirstOrDefault(static type => type.FullName?.StartsWith(
            "Coverlet.Core.Instrumentation.Tracker.", StringComparison.Ordinal) == true);
        return tracker?.GetField("HitsArray", BindingFlags.Public | BindingFlags.Static)?.GetValue(null) as int[];
    }
}
