namespace FastCgi.AspNetCore;

/// <summary>Specifies the implementation of the transport.</summary>
public enum FastCgiTransportEngine
{
    /// <summary><see cref="Epoll"/> on Linux, otherwise <see cref="Socket"/>.</summary>
    Auto,

    /// <summary>The event loops of this server, based on epoll. Linux only.</summary>
    Epoll,

    /// <summary>The sockets of .NET, on any operating system.</summary>
    Socket,
}
