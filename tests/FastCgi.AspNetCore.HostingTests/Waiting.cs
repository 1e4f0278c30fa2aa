// These tests set variables of the environment and bind what others could be about to bind.
[assembly: CollectionBehavior(DisableTestParallelization = true)]

namespace FastCgi.AspNetCore.HostingTests;

internal static class Waiting
{
    /// <summary>How long a test waits for what must happen; it passes only where a test fails.</summary>
    public static TimeSpan Patience { get; } = TimeSpan.FromSeconds(30);
}
