namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>
/// A loop without an operating system: the world supplies its events. Where a real loop waits for events, this one
/// gives up its thread, and gets another when there are events.
/// </summary>
internal sealed class VirtualLoop
{
    private readonly RequestScheduler _scheduler;
    private readonly VirtualMachine _machine;
    private readonly Queue<(VirtualConnection Connection, byte[]? Received)> _events = new();
    private readonly Queue<VirtualConnection> _toClose = new();
    private readonly Queue<(VirtualConnection Connection, ReadyRequests Ready)> _posted = new();

    public VirtualLoop(RequestScheduler scheduler, VirtualMachine machine)
    {
        _scheduler = scheduler;
        _machine = machine;
        Queue = new RunQueue(TryBegin);
    }

    public RunQueue Queue { get; }

    public bool IsOwned { get; private set; }

    public bool HasWork => _events.Count > 0 || _toClose.Count > 0 || _posted.Count > 0;

    /// <summary>
    /// Something was received, or, if it is <see langword="null"/>, the web server has closed the connection.
    /// </summary>
    public void Add(VirtualConnection connection, byte[]? received) => _events.Enqueue((connection, received));

    public void QueueToClose(VirtualConnection connection) => _toClose.Enqueue(connection);

    /// <summary>Gives the loop a thread, because there are events.</summary>
    public void Wake()
    {
        IsOwned = true;
        _scheduler.Workers.Run(Queue);
    }

    /// <summary>Requests became ready without a receive.</summary>
    public void Post(VirtualConnection connection, ReadyRequests ready) => _posted.Enqueue((connection, ready));

    private BatchResult TryBegin(BatchSource source)
    {
        while (true)
        {
            while (_toClose.TryDequeue(out var closing))
                closing.CloseAsDecided();
            if (_posted.TryDequeue(out var posted))
            {
                Queue.Begin(ref posted.Ready, posted.Connection.Connection.Output, hasMore: HasWork);
                return BatchResult.Begun;
            }

            if (!_events.TryDequeue(out var next))
            {
                if (source != BatchSource.Wait)
                    return BatchResult.None;

                IsOwned = false;
                return BatchResult.Ended;
            }

            var (connection, received) = next;
            if (received is null)
            {
                connection.OnClosed(isCut: true);
                continue;
            }

            var ready = new ReadyRequests();
            connection.Connection.OnReceived(received, ref ready);
            _machine.Point("received");
            if (ready.HasWork)
            {
                Queue.Begin(ref ready, connection.Connection.Output, hasMore: _events.Count > 0);
                return BatchResult.Begun;
            }

            connection.Connection.Output.FlushNow();
        }
    }
}

/// <summary>A connection of a virtual loop: keeps what was sent, as if the peer had it.</summary>
internal sealed class VirtualConnection : ConnectionTransport
{
    private readonly VirtualLoop _loop;
    private readonly VirtualMachine _machine;
    private readonly bool _sendsShort;
    private BufferBlock? _unsent;
    private bool _isQueuedToClose;

    public VirtualConnection(
        string name, VirtualLoop loop, ConnectionManager manager, VirtualMachine machine, bool sendsShort)
    {
        Name = name;
        _loop = loop;
        _machine = machine;
        _sendsShort = sendsShort;
        Connection = new FastCgiConnection(manager, this);
        manager.TryAdd(Connection);
    }

    public string Name { get; }

    public FastCgiConnection Connection { get; }

    public List<byte> Sent { get; } = [];

    /// <summary>Whether a send is in progress or waiting for space.</summary>
    public bool IsSending { get; private set; }

    /// <summary>Whether the socket has space for the rest of a send.</summary>
    public bool CanContinueSend => _unsent is not null;

    public bool IsClosed { get; private set; }

    /// <summary>Whether the peer or a reset has ended the connection, so that answers may be missing.</summary>
    public bool IsCut { get; private set; }

    public override string DescribePeer() => "a test";

    public override bool CanReset => true;

    public override bool Send(BufferBlock chain)
    {
        IsSending = true;
        _machine.Point("send");
        if (!IsClosed)
        {
            if (_sendsShort)
            {
                Sent.AddRange(chain.UsedSpan[..(chain.Length / 2)]);
                _unsent = chain;
                return false;
            }

            Take(chain, skipped: 0);
        }

        IsSending = false;
        return true;
    }

    /// <summary>The socket has space, so the rest of the send completes.</summary>
    public void ContinueSend()
    {
        var unsent = _unsent!;
        _unsent = null;
        if (!IsClosed)
            Take(unsent, unsent.Length / 2);
        IsSending = false;
        Connection.Output.OnSent();
    }

    public override void Close()
    {
        if (_isQueuedToClose)
            return;

        _isQueuedToClose = true;
        _loop.QueueToClose(this);
    }

    public override void Run(ref ReadyRequests ready)
    {
        _loop.Post(this, ready);
        ready = default;
    }

    public override void ResumeReceiving()
    {
    }

    public void CloseAsDecided()
    {
        _isQueuedToClose = false;
        // The peer closes at once, even after a half-close.
        if (!IsClosed && Connection.DecideClose() is not CloseAction.None and var action)
            OnClosed(isCut: action == CloseAction.Reset);
    }

    public void OnClosed(bool isCut)
    {
        if (IsClosed)
            return;

        IsClosed = true;
        IsCut = isCut;
        Connection.OnClosed(new ConnectionResetException("The web server closed the connection."));
    }

    private void Take(BufferBlock chain, int skipped)
    {
        Sent.AddRange(chain.UsedSpan[skipped..]);
        for (var block = chain.Next; block is not null; block = block.Next)
            Sent.AddRange(block.UsedSpan);
    }
}
