using System.Net;
using FastCgi.AspNetCore.Requests;

namespace FastCgi.AspNetCore.Connections;

/// <summary>
/// What a connection needs of the engine that moves its bytes. The engine calls <see cref="FastCgiConnection.OnReceived"/> and
/// <see cref="FastCgiConnection.OnClosed"/>, from one thread at a time. It ends the connection as <see cref="FastCgiConnection.DecideEnd"/> says.
/// </summary>
internal abstract class ConnectionTransport : OutputTransport
{
    /// <summary>The web server's end, or <see langword="null"/> where it is not known.</summary>
    public abstract EndPoint? RemoteEndPoint { get; }

    /// <summary>Who the web server's end is, for the log.</summary>
    public virtual string DescribePeer() => RemoteEndPoint?.ToString() is { Length: > 0 } address ? address : "an unknown peer";

    /// <summary>Whether a reset is seen by the peer as an error, and not as the end: so it is with TCP.</summary>
    public abstract bool CanReset { get; }

    /// <summary>Receiving may go on, after <see cref="FastCgiConnection.OnReceived"/> said that it must pause.</summary>
    public abstract void ResumeReceiving();
}
