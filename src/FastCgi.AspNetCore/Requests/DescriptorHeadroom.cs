namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The last descriptors that the process may have: connections leave them to everything else. .NET needs two for each thread, and ends the
/// process when its thread pool cannot start one; so a peer that opens connections enough would end it.
/// </summary>
internal static class DescriptorHeadroom
{
    // One in six, 170 of the usual 1,024: less than the fifth at whose beginning the operator is told. Threads and files do not become more with
    // the limit, so the share ends at some number.
    private const int Share = 6;
    private const long Largest = 1_024;

    /// <summary>
    /// How many descriptors of a limit connections can have. A descriptor of this number, or a higher one, is among the last: the system gives
    /// the lowest that is free, so that all before it are in use then.
    /// </summary>
    public static long CountForConnections(long limit) => limit - Get(limit);

    /// <summary>How many descriptors of a limit connections and the files that the server sends can have. The rest is for threads.</summary>
    public static long CountForFiles(long limit) => limit - (Get(limit) / 2);

    private static long Get(long limit) => Math.Min(limit / Share, Largest);
}
