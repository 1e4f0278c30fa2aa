namespace FastCgi.AspNetCore.Streams;

/// <summary>What the lock of a connection guards. A mutable struct: reach it by reference, do not copy it.</summary>
internal struct ConnectionState
{
    public RecordReader Reader;
    public RequestTable Requests;

    /// <summary>The discrete record that is being received in pieces, which is rare.</summary>
    public PieceBuffer PartialContent;
    public ConnectionLifetime Lifetime;
    public SendQueue Output;
    public uint RequestCount;

    /// <summary>The id of the last request that began; 0 before the first.</summary>
    public ushort LastId;

    /// <summary>Whether the web server has multiplexed, or has asked whether it may.</summary>
    public bool IsMultiplexed;

    /// <summary>Whether a reset harms more than this connection; null until a request has told.</summary>
    public bool? ForbidsReset;
    public long PausedSince;

    /// <summary>When the record that is being received began.</summary>
    public long RecordSince;
    public long ReceivedLength;
}

/// <summary>What a connection has to send, and what it is sending.</summary>
internal struct SendQueue
{
    /// <summary>Records that belong to no response.</summary>
    public BufferChain Control;

    /// <summary>The queue is a ring: the last stream refers to the first.</summary>
    public RequestStream? LastQueued;
    public BufferBlock? Sending;
    public int SendingLength;
    public bool ClosesWhenSent;
    public long SentLength;
    public long SendNumber;

    /// <summary>How many of the bytes that were given to the transport are complete responses.</summary>
    public long AnswersEnd;

    /// <summary>The responses whose application waits for a send.</summary>
    public List<RequestStream>? Waiters;

    /// <summary>How often a send has made progress, with the number of sends, when that was last checked.</summary>
    public long SeenSteps;
    public long LastStepSeenAt;

    public readonly bool IsSending => Sending is not null;
    public readonly bool IsIdle => !IsSending && LastQueued is null && Control.Head is null;
}

/// <summary>What the lock of its connection guards of a stream.</summary>
internal struct StreamState
{
    public PieceBuffer Parameters;

    /// <summary>The records of the response that are not being sent yet.</summary>
    public BufferChain Queued;
    public RequestStream? NextQueued;
    public FlushWait? Waiter;

    /// <summary>The memory that the current send carries for this response.</summary>
    public long SendingLength;

    /// <summary>The number of that send; 0 before the first.</summary>
    public long SendNumber;

    public Exception? InputError;

    public readonly bool HasOutput => Queued.Head is not null || SendNumber != 0;
}

/// <summary>A flush that waits for room.</summary>
internal sealed class FlushWait()
    : TaskCompletionSource<FlushResult>(TaskCreationOptions.RunContinuationsAsynchronously)
{
    public int Count { get; set; }
}
