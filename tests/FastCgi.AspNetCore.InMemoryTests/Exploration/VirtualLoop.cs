using System.Net;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.InMemoryTests.Exploration;

/// <summary>
/// A loop without a system below it: events are put in by the world. Where a real one waits for events, it leaves its thread, and is
/// given one again when there are events.
/// </summary>
internal sealed class VirtualLoop(RequestScheduler scheduler, VirtualMachine machine) : RunQueue
{
    private readonly Queue<(VirtualConnection Connection, byte[]? Received)> _events = new();
    private readonly Queue<VirtualConnection> _toEnd = new();

    public override bool IsEndless => true;

    public bool IsOwned { get; private set; }

    public bool HasWork => _events.Count > 0 || _toEnd.Count > 0;

    /// <summary>Something was received, or, if it is <see langword="null"/>, the web server has closed the connection.</summary>
    public void Add(VirtualConnection connection, byte[]? received) => _events.Enqueue((connection, received));

    public void QueueToEnd(VirtualConnection connection) => _toEnd.Enqueue(connection);

    /// <summary>Gives the loop a thread, because there are events.</summary>
    public void Wake()
    {
        IsOwned = true;
        scheduler.Workers.Run(this);
    }

    public override bool Continue()
    {
        while (true)
        {
            while (_toEnd.TryDequeue(out var ending))
                ending.End();
            if (!_events.TryDequeue(out var next))
            {
                IsOwned = false;
                return true;
            }

            var (connection, received) = next;
            if (received is null)
            {
                connection.OnClosed(isByPeer: true);
                continue;
            }

            var ready = new ReadyRequests();
            connection.Connection.OnReceived(received, ref ready);
            machine.Point("received");
            if (!scheduler.Run(this, ref ready, connection.Connection.Output))
                return false;
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
    private bool _isQueuedToEnd;
    private bool _mustReset;

    public VirtualConnection(string name, VirtualLoop loop, ConnectionManager manager, VirtualMachine machine, bool sendsShort)
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

    /// <summary>Whether a send is on its way, or waits for room.</summary>
    public bool IsSending { get; private set; }

    /// <summary>Whether the socket has room for the rest of a send.</summary>
    public bool CanContinueSend => _unsent is not null;

    public bool IsClosed { get; private set; }

    /// <summary>Whether the peer or a reset has ended the connection, so that answers may be missing.</summary>
    public bool IsCut { get; private set; }

    public override EndPoint? RemoteEndPoint => null;

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

    /// <summary>The socket has room: the rest of the send is done.</summary>
    public void ContinueSend()
    {
        var unsent = _unsent!;
        _unsent = null;
        if (!IsClosed)
            Take(unsent, unsent.Length / 2);
        IsSending = false;
        Connection.Output.OnSent();
    }

    public override void Close() => QueueToEnd();

    public override void Reset()
    {
        _mustReset = true;
        QueueToEnd();
    }

    public override void ResumeReceiving()
    {
    }

    public void End()
    {
        _isQueuedToEnd = false;
        if (_mustReset)
        {
            OnClosed(isByPeer: true);
            return;
        }

        // Half closed or not: the peer closes at once.
        if (!IsClosed && Connection.DecideEnd() != EndAction.None)
            OnClosed(isByPeer: false);
    }

    public void OnClosed(bool isByPeer)
    {
        if (IsClosed)
            return;

        IsClosed = true;
        IsCut = isByPeer;
        Connection.OnClosed(new ConnectionResetException("The web server closed the connection."));
    }

    private void QueueToEnd()
    {
        if (_isQueuedToEnd)
            return;

        _isQueuedToEnd = true;
        _loop.QueueToEnd(this);
    }

    private void Take(BufferBlock chain, int skipped)
    {
        Sent.AddRange(chain.UsedSpan[skipped..]);
        for (var block = chain.Next; block is not null; block = block.Next)
            Sent.AddRange(block.UsedSpan);
    }
}
