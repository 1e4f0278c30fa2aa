namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>A listener or connection that a loop waits for. The thread that runs the loop raises its events.</summary>
internal interface IEpollSource
{
    ulong Key { get; set; }

    void OnEvent(uint events);
}
