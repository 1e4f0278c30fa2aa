namespace FastCgi.AspNetCore.Streams;

/// <summary>The state that the lock of a connection guards. A mutable struct: use references, do not copy it.</summary>
internal struct ConnectionState()
{
    public RecordReader Reader;
    public readonly Dictionary<ushort, RequestStream> Requests = [];

    /// <summary>The discrete record that is being received in pieces, which is rare.</summary>
    public PieceBuffer PartialContent;
    public ConnectionLifetime Lifetime;
    public SendQueue Output = new();
    public long RequestCount;

    /// <summary>The id of the last request that started; 0 before the first.</summary>
    public ushort LastId;

    /// <summary>Whether the web server has multiplexed, or has queried whether it may.</summary>
    public bool IsMultiplexed;

    /// <summary>Whether a reset harms other connections; null until a request has named the web server.</summary>
    public bool? ForbidsReset;
    public long PausedSince;
    public long ResumedAt;

    public long RecordSince;
    public long ReceivedLength;
}

internal struct SendQueue()
{
    public BufferChain Control;

    /// <summary>The streams with queued records, in the order of their turns.</summary>
    public readonly List<RequestStream> Queued = [];
    public BufferBlock? Sending;
    public long SendingLength;
    public bool ClosesWhenSent;
    public long SentLength;
    public long SendNumber;

    /// <summary>The number of sent bytes up to the end of the last complete response.</summary>
    public long ResponsesEnd;

    /// <summary>The number of steps of all sends, and what the peer had not taken, at the last check.</summary>
    public (long Steps, long? Undelivered) SeenProgress;
    public long ProgressSeenAt;

    public readonly bool IsSending => Sending is not null;
    public readonly bool IsIdle => !IsSending && Queued.Count == 0 && Control.Head is null;
}

/// <summary>The state of a stream that the lock of its connection guards.</summary>
internal struct StreamState
{
    public PieceBuffer Parameters;

    public BufferChain Queued;

    /// <summary>Set while flushes wait for room.</summary>
    public TaskCompletionSource<FlushResult>? Waiter;
    public int WaitingCount;
    public bool IsFlushCanceled;
    public long SendingLength;
    public long SendNumber;

    public readonly bool HasOutput => Queued.Head is not null || SendNumber != 0;
}
