using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the outlet of a connection needs of its transport.</summary>
internal abstract class OutputTransport
{
    /// <summary>
    /// Sends all bytes of a chain, in order. At most one send is under way at a time; the blocks stay the caller's, who takes them
    /// back when the send is over.
    /// </summary>
    /// <returns>
    /// <see langword="true"/> if all is sent, or lost because the connection is; else <see cref="RecordOutput.OnSent"/> is called
    /// once when that is so.
    /// </returns>
    public abstract bool Send(BufferBlock chain);

    /// <summary>
    /// The bytes that were sent and that a reset would take back, because the system has not delivered them; <see langword="null"/> where that is
    /// not known.
    /// </summary>
    public virtual long? UndeliveredLength => null;

    /// <summary>
    /// Ends the connection, as its lifetime decides: the transport asks, and obeys. Any thread may call it, at any time, and more than once.
    /// </summary>
    public abstract void End();
}
