namespace FastCgi.AspNetCore.Streams;

/// <summary>The state that all connections of a server share. No lock is held when an On… method is called.</summary>
internal abstract class StreamContext(
    FastCgiServerOptions options, ILogger log, ServerClock clock, Func<long>? getMaxDescriptors)
{
    // .NET needs two descriptors per thread, and ends the process if it gets none. One in six (170 of the usual 1,024)
    // is less than the fifth at which the operator is warned. Threads and files do not grow with the limit.
    private const int SpareShare = 6;
    private const long MostSpare = 1_024;

    public FastCgiServerOptions Options => options;
    public ILogger Log => log;
    public ServerClock Time => clock;
    public RequestStatistics Statistics { get; } = new(clock, clock.Source);
    public BufferPool Buffers { get; } = new();
    public ServerCounters Counters { get; } = new();

    /// <summary>How many bytes of a response may be queued before a write waits.</summary>
    public long MaxResponseBufferSize => options.Limits.MaxResponseBufferSize ?? long.MaxValue;

    /// <summary>Called under the lock of the connection.</summary>
    public abstract RequestStream CreateStream(FastCgiConnection connection, RequestStart start);

    /// <param name="describePeer">Queries the system, so it is called only for a message.</param>
    public abstract void OnOtherProtocol(string protocol, Func<string> describePeer);

    public abstract void OnRoleRefused(FastCgiRole role);

    /// <summary>Called every second.</summary>
    public abstract void OnTick();

    /// <summary>Gets the current descriptor limit of the process, which prlimit(1) may change.</summary>
    public long GetMaxDescriptors() => getMaxDescriptors?.Invoke() ?? int.MaxValue;

    /// <summary>Gets how many connections leave enough descriptors, which only Linux limits.</summary>
    public long GetMaxConnections()
        => OperatingSystem.IsLinux() ? CountForConnections(GetMaxDescriptors()) : int.MaxValue;

    internal static long CountForConnections(long descriptors)
        => descriptors - Math.Min(descriptors / SpareShare, MostSpare);
}
