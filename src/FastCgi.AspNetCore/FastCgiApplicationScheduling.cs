namespace FastCgi.AspNetCore;

/// <summary>Where the application runs.</summary>
public enum FastCgiApplicationScheduling
{
    /// <summary>
    /// On the thread that received the request, which costs least. A handler that blocks or computes for more than a moment keeps that
    /// thread, and another one takes over its other work; requests that are likely to do so again get threads of their own, and those that
    /// are likely to await something go to the thread pool at once, where what comes back from <c>await</c> is anyway.
    /// </summary>
    Auto,

    /// <summary>On the thread that received the request, whatever it does there. For applications that never block.</summary>
    Inline,

    /// <summary>On the thread pool, as Kestrel does.</summary>
    ThreadPool,
}
