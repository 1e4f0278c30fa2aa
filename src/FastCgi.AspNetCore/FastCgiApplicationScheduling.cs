namespace FastCgi.AspNetCore;

/// <summary>Specifies which threads run the application.</summary>
public enum FastCgiApplicationScheduling
{
    /// <summary>
    /// The thread that received the request, which costs least. If a handler blocks or computes for longer than a moment, another thread takes over the
    /// other work of that thread. Requests that are likely to block run on dedicated threads, those that are likely to await on the thread pool.
    /// </summary>
    Auto,

    /// <summary>The thread that received the request, always. For applications that never block.</summary>
    Inline,

    /// <summary>The thread pool, as in Kestrel.</summary>
    ThreadPool,
}
