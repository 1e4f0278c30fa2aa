using System.Net;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.Connections;

/// <summary>
/// What a connection needs of the engine that moves its bytes. The engine calls <see cref="FastCgiConnection.OnReceived"/> and
/// <see cref="FastCgiConnection.OnClosed"/>, from one thread at a time.
/// </summary>
internal abstract class ConnectionTransport : OutputTransport
{
    /// <summary>The number of the loop that receives; 0 with engines that have none.</summary>
    public virtual int Loop => 0;

    /// <summary>The web server's end, or <see langword="null"/> where it is not known.</summary>
    public abstract EndPoint? RemoteEndPoint { get; }

    /// <summary>Who the web server's end is, for the log.</summary>
    public virtual string DescribePeer() => RemoteEndPoint?.ToString() is { Length: > 0 } address ? address : "an unknown peer";

    /// <summary>Whether <see cref="Reset"/> is seen by the peer as an error, and not as the end: so it is with TCP.</summary>
    public abstract bool CanReset { get; }

    /// <summary>Receiving may go on, after <see cref="FastCgiConnection.OnReceived"/> said that it must pause.</summary>
    public abstract void ResumeReceiving();

    /// <summary>Ends the connection at once, so that the peer sees an error. It may be called at any time, and more than once.</summary>
    public abstract void Reset();
}
