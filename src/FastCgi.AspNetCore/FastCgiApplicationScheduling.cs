namespace FastCgi.AspNetCore;

/// <summary>Specifies which threads run the application.</summary>
public enum FastCgiApplicationScheduling
{
    /// <summary>
    /// The thread that received the request, which costs least. If a handler blocks or computes for longer than a moment, another thread takes over the
    /// other work of that thread. Requests that are likely to block run on dedicated threads; those that are likely to await run on the thread pool.
    /// </summary>
    Auto,

    /// <summary>Always the thread that received the request. Use it only if the application never blocks.</summary>
    Inline,

    /// <summary>The thread pool, as in Kestrel.</summary>
    ThreadPool,
}
