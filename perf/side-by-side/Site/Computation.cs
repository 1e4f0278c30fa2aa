using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace SideBySide.Site;

/// <summary>
/// Work of a given length. It is a number of steps, not a time: a thread that waits for a processor does not advance.
/// </summary>
internal static partial class Computation
{
    private static readonly double s_stepsPerMicrosecond = Calibrate();
    private static ulong s_result;

    public static void Run(int microseconds) => Compute((int)(microseconds * s_stepsPerMicrosecond));

    /// <summary>Computes about 150 µs and allocates 100 KB.</summary>
    public static string RunWithGarbage()
    {
        var blocks = new byte[25][];
        for (var i = 0; i < blocks.Length; i++)
        {
            blocks[i] = new byte[4_000];
            Run(5);
        }

        return blocks.Length.ToString(CultureInfo.InvariantCulture);
    }

    /// <summary>Waits without await, as a query to a server does.</summary>
    public static string Wait(int microseconds)
    {
        _ = usleep((uint)microseconds);
        return "waited";
    }

    [LibraryImport("libc")]
    private static partial int usleep(uint microseconds);

    // The shortest time is one in which nothing interrupted the thread.
    private static double Calibrate()
    {
        const int Steps = 100_000;
        var shortest = TimeSpan.MaxValue;
        for (var i = 0; i < 50; i++)
        {
            var start = Stopwatch.GetTimestamp();
            Compute(Steps);
            var elapsed = Stopwatch.GetElapsedTime(start);
            if (elapsed < shortest)
                shortest = elapsed;
        }

        return Steps / shortest.TotalMicroseconds;
    }

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static void Compute(int steps)
    {
        var state = 88_172_645_463_325_252UL;
        for (var i = 0; i < steps; i++)
        {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }

        s_result = state;
    }
}
