using System.Net;
using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What a connection needs of the engine that moves its bytes. The engine calls the connection's <c>OnReceived</c> and <c>OnClosed</c>, from one
/// thread at a time, and ends the connection as its <c>DecideEnd</c> says.
/// </summary>
internal abstract class ConnectionTransport
{
    /// <summary>The web server's end, or <see langword="null"/> where it is not known.</summary>
    public abstract EndPoint? RemoteEndPoint { get; }

    /// <summary>Describes the web server's end for the log.</summary>
    public virtual string DescribePeer() => RemoteEndPoint?.ToString() is { Length: > 0 } address ? address : "an unknown peer";

    /// <summary>Whether the peer sees a reset as an error, and not as the end: so it is with TCP.</summary>
    public abstract bool CanReset { get; }

    /// <summary>
    /// The bytes that were sent and that a reset would take back, because the system has not delivered them; <see langword="null"/> where that is
    /// not known.
    /// </summary>
    public virtual long? UndeliveredLength => null;

    /// <summary>Continues to receive, after the connection said that receiving must pause.</summary>
    public abstract void ResumeReceiving();

    /// <summary>
    /// Sends all bytes of a chain, in order. At most one send is under way at a time; the blocks stay the caller's, who takes them
    /// back when the send is over.
    /// </summary>
    /// <returns>
    /// <see langword="true"/> if all is sent, or lost because the connection is; otherwise <see cref="RecordOutput.OnSent"/> is called
    /// once when that is so.
    /// </returns>
    public abstract bool Send(BufferBlock chain);

    /// <summary>
    /// Ends the connection, as its lifetime decides: the transport asks, and obeys. Any thread may call it, at any time, and more than once.
    /// </summary>
    public abstract void End();
}
