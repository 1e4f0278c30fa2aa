namespace FastCgi.AspNetCore.Streams;

/// <summary>The interface of an engine to its connection. One thread at a time calls OnReceived and OnClosed.</summary>
internal abstract class ConnectionTransport
{
    /// <summary>Describes the web server for logs and the status.</summary>
    public abstract string DescribePeer();

    /// <summary>Whether the peer sees a reset as an error, not as the end, as with TCP.</summary>
    public abstract bool CanReset { get; }

    /// <summary>The sent bytes that the peer has not taken; null if unknown. With TCP, a reset destroys them.</summary>
    public virtual long? UndeliveredLength => null;

    /// <summary>Whether there is input to receive; <see langword="null"/> if only a read can determine it.</summary>
    public virtual bool? HasInput => null;

    public abstract void ResumeReceiving();

    /// <summary>Runs requests that became ready without a receive, such as one that has waited for a slot.</summary>
    public abstract void Run(ref ReadyRequests ready);

    /// <summary>Sends a chain. At most one send is in progress. After it, the caller owns the blocks again.</summary>
    /// <returns>Whether all is sent or lost. If not, <see cref="RecordOutput.OnSent"/> is called later.</returns>
    public abstract bool Send(BufferBlock chain);

    /// <summary>Makes the transport call <see cref="RecordOutput.OnSent"/> after the turns of others.</summary>
    public virtual bool TryPostSent() => false;

    /// <summary>
    /// If the current send is cut (<see cref="RecordOutput.IsSendCut"/>), drops all blocks except a partly sent one:
    /// each holds whole records. If possible, neither this nor the ending waits for the peer. Any thread may call it.
    /// </summary>
    public virtual void CutSend()
    {
    }

    /// <summary>Executes the action of DecideClose. Any thread may call it, at any time and repeatedly.</summary>
    public abstract void Close();
}
