namespace FastCgi.AspNetCore.Transport.Epoll;

/// <summary>A socket that a loop receives from. While nothing is unsent, it owns no buffers.</summary>
internal sealed unsafe class EpollConnection : LoopConnection, IEpollSource
{
    private const uint Interest = Libc.EpollIn | Libc.EpollPeerHangUp | Libc.EpollEdgeTriggered;
    private const uint PeerIsGone = Libc.EpollPeerHangUp | Libc.EpollHangUp | Libc.EpollError;

    // Limits receives in a row from a peer that fills the buffer each time, so that others get their turn.
    private const int MaxReceivesInARow = 16;

    // The states of the start, on a thread that is not the loop's. It owns the connection until Started.
    private const int New = 0;
    private const int EndWaits = 1;
    private const int Started = 2;

    private readonly EpollLoop _loop;
    private readonly int _socket;
    private readonly bool _isTcp;
    private BufferBlock? _unsent;
    private int _unsentOffset;

    // While the descriptor is in use, it stays open, so its number cannot refer to another connection.
    private UseCount _uses;
    private int _start;
    private bool _isHalfClosed;
    private bool _peerHungUp;
    private bool _sendFailed;
    private bool _isClosed;
    private int _error;

    public EpollConnection(EpollLoop loop, int socket, bool isTcp, ConnectionManager manager)
        : base(loop, manager)
    {
        _loop = loop;
        _socket = socket;
        _isTcp = isTcp;
    }

    public ulong Key { get; set; }

    public override bool CanReset => _isTcp;

    public override long? UndeliveredLength
    {
        get
        {
            if (!_uses.TryBegin())
                return 0;

            var length = Libc.GetUndeliveredLength(_socket);
            EndUse();
            return length;
        }
    }

    /// <summary>Queried only by the loop's thread, which also closes the socket.</summary>
    public override bool? HasInput => Libc.HasInput(_socket);

    /// <summary>Any thread may call it, even while the connection closes.</summary>
    public override string DescribePeer()
    {
        if (!_uses.TryBegin())
            return PeerAddress.Unknown;

        try
        {
            using var opened = new Socket(new SafeSocketHandle(_socket, ownsHandle: false));
            return PeerAddress.Describe(opened);
        }
        finally
        {
            EndUse();
        }
    }

    /// <summary>Starts receiving. Called once, on the accepting thread.</summary>
    public void Start()
    {
        if (!_loop.Add(this, _socket, Interest))
            throw new IOException($"epoll cannot wait for the connection: {Libc.GetMessage(Libc.LastError)}. If the "
                + "user has reached the system's limit, raise fs.epoll.max_user_watches (sysctl).");

        // It may have ended meanwhile, for example because the server stops.
        if (Interlocked.Exchange(ref _start, Started) == EndWaits)
            Close();
    }

    /// <summary>Ends a connection that the server failed to start. Called on the accepting thread.</summary>
    public void GiveUp()
    {
        Connection.Fail();
        if (_start != Started)
            CloseNow();
    }

    public void OnEvent(uint events)
    {
        if ((events & Libc.EpollOut) != 0)
            ContinueSend();
        if ((events & (Libc.EpollIn | PeerIsGone)) == 0)
            return;

        // A web server that disconnected accepts no response, so its unreceived input does not matter.
        var mustPause = Connection.IsReceivePaused && !_isHalfClosed;
        if ((mustPause || Receive()) && (events & PeerIsGone) == 0)
            return;

        // After the requests that its last bytes made ready.
        _peerHungUp = true;
        Close();
    }

    public override void ResumeReceiving()
    {
        if (!_uses.TryBegin())
            return;

        var isResumed = _loop.Modify(this, _socket, Interest);
        // A thread that found the socket full at this moment requested the event before it was canceled here.
        if (Volatile.Read(ref _unsent) is not null)
            isResumed &= _loop.Modify(this, _socket, Interest | Libc.EpollOut);
        EndUse();
        // Otherwise, input would never be received or reported.
        if (!isResumed)
            Connection.Fail();
    }

    public override bool Send(BufferBlock chain)
    {
        // Bytes were lost, so the peer would misread later ones.
        if (Volatile.Read(ref _sendFailed) || !_uses.TryBegin())
            return true;

        var isSent = Send(chain, offset: 0, out var isLost);
        EndUse();
        if (isLost)
            Connection.Fail(canSend: false);
        if (!isSent && Connection.Output.IsSendCut)
            ContinueSend();
        return isSent;
    }

    public override void CutSend()
    {
        if (!_uses.TryBegin())
            return;

        // The rest of a record then fits, even if the peer reads nothing.
        Libc.EnlargeSendBuffer(_socket);
        EndUse();
        ContinueSend();
    }

    protected override void OnTurn()
    {
        // The descriptor is about to be added to epoll. If closed now, its number could refer to another connection.
        if (Volatile.Read(ref _start) != Started && Interlocked.CompareExchange(ref _start, EndWaits, New) != Started)
            return;

        if (_isClosed)
            return;

        var action = _peerHungUp ? CloseAction.Close : Connection.DecideClose();
        if (action == CloseAction.None)
            return;

        _isHalfClosed = action == CloseAction.HalfClose;
        if (!_isHalfClosed || Libc.Shutdown(_socket, Libc.ShutdownWrite) < 0 || !Receive())
            CloseNow();
    }

    /// <summary>Runs on the loop's thread or, before the connection has started, on the accepting thread.</summary>
    public override void CloseNow()
    {
        if (_isClosed)
            return;

        _isClosed = true;
        _loop.Remove(this);
        var isReset = Connection.OnClosed(GetCloseReason());
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
            if (length == 0)
                return false;

            if (length < 0)
            {
                var error = Libc.LastError;
                if (error == Libc.ErrorInterrupted)
                    continue;

                _error = error == Libc.ErrorAgain ? 0 : error;
                return error == Libc.ErrorAgain;
            }

            if (!Connection.OnReceived(new ReadOnlySpan<byte>(_loop.ReceiveBuffer, length), ref _loop.BeginReady(this)))
                return true;

            // A short receive has emptied the socket. New input raises another event.
            if (length < EpollLoop.ReceiveBufferLength)
                return true;
        }

        ResumeReceiving();
        return true;
    }

    /// <summary>Creates the exception that reads throw. If the server closed the connection, there are none.</summary>
    private ConnectionResetException GetCloseReason()
        => _error == 0
            ? new ConnectionResetException("The web server closed the connection.")
            : new ConnectionResetException("The connection was lost.", new IOException(Libc.GetMessage(_error)));

    private void ContinueSend()
    {
        if (Volatile.Read(ref _unsent) is null || !_uses.TryBegin())
            return;

        var isSent = false;
        var isLost = false;
        var isCut = false;
        if (Interlocked.Exchange(ref _unsent, null) is { } unsent)
        {
            // Not earlier: until this thread has the rest, another one may end this send and start the next.
            isCut = Connection.Output.IsSendCut;
            isSent = (isCut && TryDropRest(unsent)) || Send(unsent, _unsentOffset, out isLost);
            if (!isSent)
                Connection.Output.OnSendProgress();
            else if (!isLost)
                _loop.Modify(this, _socket, Interest);
        }

        EndUse();
        if (isLost)
            Connection.Fail(canSend: false);
        if (isSent)
            Connection.Output.OnSent();
        else if (!isCut && Connection.Output.IsSendCut)
            ContinueSend();
    }

    /// <summary>Drops the blocks after the current one.</summary>
    /// <returns>Whether nothing is left, because no byte of the current block was sent either.</returns>
    private bool TryDropRest(BufferBlock unsent)
    {
        BufferBlock.ReturnChain(unsent.Next);
        unsent.Next = null;
        return _unsentOffset == 0;
    }

    /// <summary>Sends as much as the socket accepts; the loop sends the rest. The caller must hold a use.</summary>
    /// <returns>Whether all is sent or lost. If not, the chain belongs to the thread that removes it.</returns>
    private bool Send(BufferBlock chain, int offset, out bool isLost)
    {
        var rest = SocketSend.Send(_socket, chain, ref offset, out isLost);
        if (rest is not null)
        {
            _unsentOffset = offset;
            // Either this thread sees that the send is cut, or the thread that cuts it sees the rest.
            Interlocked.Exchange(ref _unsent, rest);
            // Without the event, the rest would never be sent, unless the loop has removed it on an earlier one.
            if (_loop.Modify(this, _socket, Interest | Libc.EpollOut)
                || Interlocked.Exchange(ref _unsent, null) is null)
                return false;
            isLost = true;
        }

        if (isLost)
            Volatile.Write(ref _sendFailed, true);
        return true;
    }

    private void EndUse()
    {
        if (_uses.End())
            CloseSocket();
    }

    /// <summary>Runs once, after the last use: no other thread uses the descriptor or the chain.</summary>
    private void CloseSocket()
    {
        Libc.Close(_socket);
        if (Interlocked.Exchange(ref _unsent, null) is not null)
            Connection.Output.OnSent();
    }
}
