namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>A listener or connection that a loop waits for. The thread that runs the loop raises its events.</summary>
internal interface IEpollSource
{
    /// <summary>The key of the source in its loop, which sets it.</summary>
    ulong Key { get; set; }

    void OnEvent(uint events);
}
