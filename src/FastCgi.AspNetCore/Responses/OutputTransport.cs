using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Responses;

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
    /// Ends the connection in good order, now that all is sent: no more is sent, what the peer still sends is read and dropped,
    /// within bounds, so that a reset does not destroy the answer, and then the connection is closed.
    /// </summary>
    public abstract void Close();
}
