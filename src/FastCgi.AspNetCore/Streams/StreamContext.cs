namespace FastCgi.AspNetCore.Streams;

/// <summary>The state that all connections of a server share.</summary>
internal class StreamContext
{
    // .NET needs two descriptors per thread, and ends the process if it gets none. One in six (170 of the usual 1,024)
    // is less than the fifth at which the operator is warned. Threads and files do not grow with the limit.
    private const int SpareShare = 6;
    private const long MostSpare = 1_024;

    public required FastCgiServerOptions Options { get; init; }

    public required Func<FastCgiConnection, RequestStart, RequestStream> CreateStream { get; init; }

    /// <summary>Called, without locks, with the name of another protocol, and the peer that uses it.</summary>
    public Action<string, string>? OtherProtocolFound { get; init; }

    /// <summary>Called, without locks, with the role of a refused request.</summary>
    public Action<FastCgiRole>? RoleRefused { get; init; }

    /// <summary>Called every second, without locks.</summary>
    public Action? OnTick { get; init; }

    /// <summary>How many bytes of a response may be queued before a write waits.</summary>
    public long MaxResponseBufferSize => Options.Limits.MaxResponseBufferSize ?? long.MaxValue;

    public required ILogger Log { get; init; }
    public required ServerClock Time { get; init; }
    public required RequestStatistics Statistics { get; init; }
    public BufferPool Buffers { get; } = new();
    public ServerCounters Counters { get; } = new();

    /// <summary>Gets the current descriptor limit of the process, which prlimit(1) may change.</summary>
    public required Func<long> GetMaxDescriptors { get; init; }

    /// <summary>Gets how many connections leave enough descriptors, which only Linux limits.</summary>
    public long GetMaxConnections()
        => OperatingSystem.IsLinux() ? CountForConnections(GetMaxDescriptors()) : GetMaxDescriptors();

    internal static long CountForConnections(long descriptors)
        => descriptors - Math.Min(descriptors / SpareShare, MostSpare);
}
