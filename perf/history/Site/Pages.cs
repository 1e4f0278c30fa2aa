using System.Globalization;

namespace History.Site;

/// <summary>Shared by the pages that are also served without ASP.NET Core.</summary>
internal static class Pages
{
    public const string Hello = "Hello, world!";

    private static readonly TaskCompletionSource s_never = new();
    private static int s_held;
    private static long s_served;

    /// <summary>Never answers, as in the measurement of Helios: all requests wait for one task.</summary>
    public static Task HoldAsync()
    {
        Interlocked.Increment(ref s_held);
        return s_never.Task;
    }

    /// <summary>Counts a request of the session page.</summary>
    public static void CountServed() => Interlocked.Increment(ref s_served);

    /// <summary>
    /// The requests held and served, the managed heap, and the µs that the collector has stopped the process.
    /// </summary>
    /// <param name="collect">Whether to collect first: not while a rate or a pause is measured.</param>
    public static string ReadFigures(bool collect = false) => string.Create(CultureInfo.InvariantCulture,
        $"{Volatile.Read(ref s_held)} {Volatile.Read(ref s_served)} {GC.GetTotalMemory(collect)} {GC.GetTotalPauseDuration().TotalMicroseconds:0}");
}
