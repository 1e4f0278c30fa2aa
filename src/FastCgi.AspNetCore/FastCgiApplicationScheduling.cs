namespace FastCgi.AspNetCore;

/// <summary>Specifies which threads run the application.</summary>
public enum FastCgiApplicationScheduling
{
    /// <summary>
    /// The thread that received the request, if the path is known to be short. Requests that compute run on as many
    /// other threads as there are processors; requests that are likely to block run on dedicated threads. If a handler
    /// blocks or computes unexpectedly, another thread takes over the other work of its thread.
    /// </summary>
    Auto,

    /// <summary>
    /// Always the thread that received the request. Use it only if the application neither blocks nor computes: other
    /// requests wait until another thread takes over.
    /// </summary>
    Inline,

    /// <summary>The thread pool, as in Kestrel.</summary>
    ThreadPool,
}
