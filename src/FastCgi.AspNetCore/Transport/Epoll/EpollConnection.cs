using System.Net;
using System.Runtime.InteropServices;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>
/// A connection of the epoll engine. It owns no buffer: what is received lies in the loop's, what is sent in the blocks of the
/// responses. Only the thread that runs the loop receives and closes; any thread sends, one at a time.
/// </summary>
internal sealed unsafe class EpollConnection : ConnectionTransport, IEpollSource
{
    private const uint Interest = Libc.EpollIn | Libc.EpollPeerHangUp | Libc.EpollEdgeTriggered;
    private const uint PeerIsGone = Libc.EpollPeerHangUp | Libc.EpollHangUp | Libc.EpollError;

    // Receives in a row of a peer that fills the buffer each time, before others have their turn.
    private const int MaxReceivesInARow = 16;

    // How far the thread that accepts has come, which is not that of the loop. Until it is done, the connection is its own.
    private const int New = 0;
    private const int EndWaits = 1;
    private const int Started = 2;

    private readonly EpollLoop _loop;
    private readonly int _socket;
    private readonly bool _isTcp;
    private BufferBlock? _unsent;
    private int _unsentOffset;
    private UseCount _uses;
    private int _start;
    private int _isQueuedToEnd;
    private bool _isDraining;
    private bool _isLost;
    private bool _isClosed;
    private int _error;

    public EpollConnection(EpollLoop loop, int socket, bool isTcp, ConnectionManager manager)
    {
        _loop = loop;
        _socket = socket;
        _isTcp = isTcp;
        Connection = new FastCgiConnection(manager, this);
    }

    /// <summary>The connection whose bytes these are.</summary>
    public FastCgiConnection Connection { get; }

    /// <inheritdoc/>
    public ulong Key { get; set; }

    /// <summary>The next connection that waits for the loop to end it.</summary>
    public EpollConnection? NextToEnd { get; set; }

    /// <inheritdoc/>
    public override bool CanReset => _isTcp;

    /// <inheritdoc/>
    public override long? UndeliveredLength
    {
        get
        {
            // What a unix socket has taken lies with the peer already.
            if (!_isTcp || !BeginUse())
                return 0;

            var length = Libc.GetUndeliveredLength(_socket);
            EndUse();
            return length;
        }
    }

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint => AskSocket(PeerAddress.Get);

    /// <inheritdoc/>
    public override string DescribePeer() => AskSocket(PeerAddress.DescribeProcess) ?? base.DescribePeer();

    /// <summary>Begins to receive. On the thread that accepts, once.</summary>
    /// <param name="error">Why the system could not take the connection on, which is closed then.</param>
    public bool TryStart(out int error)
    {
        error = 0;
        if (!_loop.Add(this, _socket, Interest))
        {
            error = Libc.LastError;
            Connection.Reset();
            CloseNow();
            return false;
        }

        // A server that stops, for one, ends what it finds.
        if (Interlocked.Exchange(ref _start, Started) == EndWaits)
            _loop.QueueToEnd(this);
        return true;
    }

    /// <summary>Ends a connection that the server failed to start. On the thread that accepts.</summary>
    public void GiveUp()
    {
        Connection.Reset();
        if (_start != Started)
            CloseNow();
    }

    /// <inheritdoc/>
    public void OnEvent(uint events)
    {
        if ((events & Libc.EpollOut) != 0)
            ContinueSend();
        if ((events & (Libc.EpollIn | PeerIsGone)) == 0)
            return;

        // A front-end that is gone will not take an answer, so what it has sent before and we have not received does not matter.
        var mustPause = Connection.IsReceivePaused && !_isDraining;
        if ((!mustPause && !Receive()) || (events & PeerIsGone) != 0)
            _loop.CloseAfterBatch(this);
    }

    /// <inheritdoc/>
    public override void ResumeReceiving()
    {
        if (!BeginUse())
            return;

        var isResumed = _loop.Modify(this, _socket, Interest);
        // A thread that meets a full socket in this instant has asked for the event before it was taken back.
        if (Volatile.Read(ref _unsent) is not null)
            isResumed &= _loop.Modify(this, _socket, Interest | Libc.EpollOut);
        EndUse();
        // What has come would never be received, and nobody would know.
        if (!isResumed)
            Connection.Reset();
    }

    /// <inheritdoc/>
    public override bool Send(BufferBlock chain)
    {
        // Behind bytes that were lost, the peer would take others for them.
        if (Volatile.Read(ref _isLost) || !BeginUse())
            return true;

        var isSent = Send(chain, offset: 0, out var isLost);
        EndUse();
        if (isLost)
            Connection.Reset();
        return isSent;
    }

    /// <inheritdoc/>
    public override void End()
    {
        if (Interlocked.Exchange(ref _isQueuedToEnd, 1) == 0)
            _loop.QueueToEnd(this);
    }

    /// <summary>Does what <see cref="End"/> asked for. On the thread that runs the loop.</summary>
    public void EndNow()
    {
        // The descriptor is about to be given to epoll: closed now, its number could mean another connection by then.
        if (Volatile.Read(ref _start) != Started && Interlocked.CompareExchange(ref _start, EndWaits, New) != Started)
            return;

        Volatile.Write(ref _isQueuedToEnd, 0);
        if (_isClosed)
            return;

        switch (Connection.DecideEnd())
        {
            case EndAction.None:
            case EndAction.ResetUnlessInput when Libc.HasInput(_socket) || !Connection.TryEndLeaving():
                return;
            case EndAction.HalfClose:
                _isDraining = true;
                if (Libc.Shutdown(_socket, Libc.ShutdownWrite) < 0 || !Receive())
                    CloseNow();
                return;
            default:
                CloseNow();
                return;
        }
    }

    /// <summary>Closes the connection. On the thread that runs the loop, or, before it has started, on the one that accepts.</summary>
    public void CloseNow()
    {
        if (_isClosed)
            return;

        _isClosed = true;
        var isReset = Connection.DecideEnd() == EndAction.Reset;
        _loop.Remove(this);
        Connection.OnClosed(GetCloseReason(isReset));

        if (isReset && _isTcp)
            Libc.ResetOnClose(_socket);
        if (_uses.Close())
            CloseSocket();
    }

    /// <returns>Whether the connection is still open.</returns>
    private bool Receive()
    {
        for (var i = 0; i < MaxReceivesInARow; i++)
        {
            var length = (int)Libc.Receive(_socket, _loop.ReceiveBuffer, EpollLoop.ReceiveBufferLength, 0);
            if (length <= 0)
            {
                if (length == 0)
                    return false;

                var error = Libc.LastError;
                if (error == Libc.ErrorInterrupted)
                    continue;

                _error = error == Libc.ErrorAgain ? 0 : error;
                return error == Libc.ErrorAgain;
            }

            if (!Connection.OnReceived(new ReadOnlySpan<byte>(_loop.ReceiveBuffer, length), ref _loop.BeginReady(this)))
                return true;

            // A short receive has emptied the socket, and what comes later makes another event.
            if (length < EpollLoop.ReceiveBufferLength)
                return true;
        }

        ResumeReceiving();
        return true;
    }

    private Exception GetCloseReason(bool isReset)
    {
        if (isReset || _isDraining)
            return new ConnectionAbortedException("The connection was closed by the server.");

        return _error == 0
            ? new ConnectionResetException("The web server closed the connection.")
            : new ConnectionResetException("The connection was lost.", new IOException(Marshal.GetPInvokeErrorMessage(_error)));
    }

    private void ContinueSend()
    {
        if (Volatile.Read(ref _unsent) is null || !BeginUse())
            return;

        var isSent = false;
        var isLost = false;
        if (Interlocked.Exchange(ref _unsent, null) is { } unsent)
        {
            isSent = Send(unsent, _unsentOffset, out isLost);
            if (!isSent)
                Connection.Output.OnSendProgress();
            else if (!isLost)
                _loop.Modify(this, _socket, Interest);
        }

        EndUse();
        if (isLost)
            Connection.Reset();
        if (isSent)
            Connection.Output.OnSent();
    }

    /// <summary>Sends what the socket takes, and has the loop send the rest. In a use of the descriptor.</summary>
    /// <returns>Whether all is sent, or lost; if not, the chain belongs to whoever takes it out of its field.</returns>
    private bool Send(BufferBlock chain, int offset, out bool isLost)
    {
        var rest = SocketSend.Send(_socket, chain, ref offset, out isLost);
        if (rest is not null)
        {
            _unsentOffset = offset;
            Volatile.Write(ref _unsent, rest);
            // Without the event, the rest would wait for ever; unless the loop has met an earlier one, and taken it.
            if (_loop.Modify(this, _socket, Interest | Libc.EpollOut) || Interlocked.Exchange(ref _unsent, null) is null)
                return false;
            isLost = true;
        }

        if (isLost)
            Volatile.Write(ref _isLost, true);
        return true;
    }

    /// <summary>Asks the system about the descriptor; from any thread, such as one that looks at the status while the connection goes.</summary>
    private T? AskSocket<T>(Func<int, T?> ask)
        where T : class
    {
        if (!BeginUse())
            return null;

        try
        {
            return ask(_socket);
        }
        finally
        {
            EndUse();
        }
    }

    /// <summary>Begins to use the descriptor: it is not closed meanwhile, and its number does not come to mean another connection.</summary>
    /// <returns>Whether the connection is still open.</returns>
    private bool BeginUse() => _uses.TryBegin();

    private void EndUse()
    {
        if (_uses.End())
            CloseSocket();
    }

    /// <summary>Exactly once, when the last use has ended and none can begin: nobody else has the descriptor, nor the chain.</summary>
    private void CloseSocket()
    {
        Libc.Close(_socket);
        if (Interlocked.Exchange(ref _unsent, null) is not null)
            Connection.Output.OnSent();
    }
}
