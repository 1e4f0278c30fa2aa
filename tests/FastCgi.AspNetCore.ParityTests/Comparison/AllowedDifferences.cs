namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>All that may differ, and why. The same is in <c>docs/parity.md</c>.</summary>
internal static class AllowedDifferences
{
    public static IReadOnlyList<AllowedDifference> All { get; } =
    [
    ];
}
