namespace FastCgi.AspNetCore;

/// <summary>How bytes are moved and where the application runs.</summary>
public sealed class FastCgiTransportOptions
{
    /// <summary>What moves the bytes.</summary>
    /// <remarks><see cref="FastCgiTransportEngine.Auto"/> by default.</remarks>
    public FastCgiTransportEngine Engine { get; set; }

    /// <summary>Where the application runs.</summary>
    /// <remarks><see cref="FastCgiApplicationScheduling.Auto"/> by default.</remarks>
    public FastCgiApplicationScheduling ApplicationScheduling { get; set; }

    /// <summary>The loops of the epoll engine; each is one thread that waits for events.</summary>
    /// <remarks>By default half the processors, at least 1 and at the most 16: the other half is the web server's. At least 1.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public int LoopCount
    {
        get;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            field = value;
        }
    } = Math.Clamp(Environment.ProcessorCount / 2, 1, 16);

    /// <summary>
    /// The most threads for handlers that block or compute. Each loop of the epoll engine has one thread more, which is never given to such
    /// a handler: when a handler keeps it, it counts as one of these, and the loop gets another. So there are at the most this many and
    /// <see cref="LoopCount"/> threads in the application, not counting those of the .NET thread pool. Further requests that are likely
    /// to keep a thread wait until one is free; and a loop whose handler keeps it waits for it.
    /// </summary>
    /// <remarks>1,000 by default. At least 1.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public int MaxBlockingThreads
    {
        get;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            field = value;
        }
    } = 1_000;
}
