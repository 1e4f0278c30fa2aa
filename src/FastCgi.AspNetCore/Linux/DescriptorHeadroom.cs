namespace FastCgi.AspNetCore.Linux;

/// <summary>Keeps descriptors free: .NET needs two per thread, and ends the process if it gets none.</summary>
internal static class DescriptorHeadroom
{
    // One in six (170 of the usual 1,024): less than the fifth at which the operator is warned. Threads and files do
    // not grow with the limit, so the share is capped.
    private const int Share = 6;
    private const long Largest = 1_024;

    /// <summary>Gets the number for connections. The system assigns the lowest: beyond, all are in use.</summary>
    public static long CountForConnections(long limit) => limit - Math.Min(limit / Share, Largest);

    /// <summary>Gets the limit of connections on this system, which may not limit descriptors.</summary>
    public static long GetMaxConnections(long limit) => OperatingSystem.IsLinux() ? CountForConnections(limit) : limit;
}
