namespace FastCgi.AspNetCore.Linux;

/// <summary>
/// The last descriptors that the process may have: connections leave them to everything else. .NET needs two for each thread, and ends the
/// process when its thread pool cannot start one; so a peer that opens connections enough would end it.
/// </summary>
/// <param name="getLimit">How many descriptors the process may have, which is asked again when a connection reaches the last ones.</param>
internal sealed class DescriptorHeadroom(Func<long> getLimit)
{
    // One in six, 170 of the usual 1,024: less than the fifth at whose beginning the operator is told. Threads and files do not become more with
    // the limit, so the share ends at some number.
    private const int Share = 6;
    private const long Largest = 1_024;

    // Loops may set it at once, to the same.
    private long _first = CountForConnections(getLimit());

    /// <summary>How many descriptors of a limit connections can have.</summary>
    public static long CountForConnections(long limit) => limit - Math.Min(limit / Share, Largest);

    /// <summary>Whether a descriptor is among the last. The system gives the lowest that is free, so that all before it are in use then.</summary>
    public bool Includes(int descriptor)
    {
        if (descriptor < Volatile.Read(ref _first))
            return false;

        // prlimit(1) may have raised it meanwhile.
        var first = CountForConnections(getLimit());
        Volatile.Write(ref _first, first);
        return descriptor >= first;
    }
}
