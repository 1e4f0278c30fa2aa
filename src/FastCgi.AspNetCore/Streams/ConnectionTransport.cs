namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// The engine, as its connection sees it. It calls <c>OnReceived</c> and <c>OnClosed</c>, one thread at a time, and
/// obeys <c>DecideClose</c>.
/// </summary>
internal abstract class ConnectionTransport
{
    /// <summary>The web server's address, or <see langword="null"/> if unknown.</summary>
    public abstract EndPoint? RemoteEndPoint { get; }

    public virtual string DescribePeer()
        => RemoteEndPoint?.ToString() is { Length: > 0 } address ? address : "an unknown peer";

    /// <summary>Whether the peer sees a reset as an error, not as the end, as with TCP.</summary>
    public abstract bool CanReset { get; }

    /// <summary>
    /// The sent bytes that a reset would destroy, because they are not delivered yet; <see langword="null"/> if
    /// unknown.
    /// </summary>
    public virtual long? UndeliveredLength => null;

    /// <summary>Whether there is input to receive; <see langword="null"/> if only a read can tell.</summary>
    public virtual bool? HasInput => null;

    public abstract void ResumeReceiving();

    /// <summary>
    /// Runs what has become ready without a receive: a request that has waited for a slot, or that has timed out, and
    /// reports.
    /// </summary>
    public abstract void Run(ref ReadyRequests ready);

    /// <summary>
    /// Sends all bytes of a chain, in order. Only one send is in progress at a time. After it, the caller takes the
    /// blocks back.
    /// </summary>
    /// <returns>
    /// <see langword="true"/> if all is sent, or lost with the connection. Otherwise <see cref="RecordOutput.OnSent"/>
    /// is called once that is so.
    /// </returns>
    public abstract bool Send(BufferBlock chain);

    /// <summary>
    /// If the current send is cut (<see cref="RecordOutput.IsSendCut"/>), drops the blocks that are not begun, each of
    /// which holds whole records, and sends the rest of the one that is. If possible, neither this nor the ending waits
    /// for the peer. Any thread may call it.
    /// </summary>
    public virtual void CutSend()
    {
    }

    /// <summary>
    /// Ends the connection as its lifetime decides. Any thread may call it, at any time, and more than once.
    /// </summary>
    public abstract void Close();
}
