namespace FastCgi.AspNetCore;

/// <summary>Configures the transport and the threads that run the application.</summary>
public sealed class FastCgiTransportOptions
{
    /// <summary>Gets or sets which threads run the application.</summary>
    /// <remarks>Defaults to <see cref="FastCgiApplicationScheduling.Auto"/>.</remarks>
    public FastCgiApplicationScheduling ApplicationScheduling { get; set; }

    /// <summary>Gets or sets the number of event loops. One thread at a time runs each loop.</summary>
    /// <remarks>
    /// Defaults to half the number of processors, at least 1 and at most 16; the other half is for the web server. Must
    /// be at least 1.
    /// </remarks>
    public int LoopCount
    {
        get;
        set => field = (int)FastCgiServerLimits.InRange(value, 1);
    } = Math.Clamp(Environment.ProcessorCount / 2, 1, 16);

    /// <summary>
    /// Gets or sets the maximum number of threads for handlers that block, or compute for more than about 10 ms. At the
    /// limit, requests that are likely to block wait for a free thread. If a handler then blocks a loop, all requests
    /// wait; only the status page, the path for pings, and rejections do not.
    /// </summary>
    /// <remarks>
    /// Defaults to 1,000. Must be at least 1. The server has at most this many threads, plus two for each loop, one for
    /// each processor, and three more, not counting the .NET thread pool. If a handler blocks the thread of a loop,
    /// that thread counts here, and the loop gets another one.
    /// </remarks>
    public int MaxBlockingThreads
    {
        get;
        set => field = (int)FastCgiServerLimits.InRange(value, 1);
    } = 1_000;
}
