namespace FastCgi.AspNetCore;

/// <summary>What moves the bytes of connections.</summary>
public enum FastCgiTransportEngine
{
    /// <summary><see cref="Epoll"/> on Linux, else <see cref="Socket"/>.</summary>
    Auto,

    /// <summary>Loops of our own over epoll. Linux only.</summary>
    Epoll,

    /// <summary>The sockets of .NET, on any system.</summary>
    Socket,
}
