namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>Something that a loop waits for: a listener, a connection, a wake-up call. Its events come on the thread that runs the loop.</summary>
internal interface IEpollSource
{
    /// <summary>What the loop knows it by: its place, and which of the sources at that place it is.</summary>
    ulong Key { get; set; }

    /// <summary>Something happened.</summary>
    void OnEvent(uint events);
}
