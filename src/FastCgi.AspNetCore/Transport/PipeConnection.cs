namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// A connection over pipes. It reads on the thread pool, because a pipe may have any implementation, and posts to its
/// loop, which takes what was received and decides when to close.
/// </summary>
internal sealed class PipeConnection : LoopConnection
{
    private static readonly TimeSpan s_longestTimer = TimeSpan.FromDays(49);

    private readonly ConnectionContext _context;
    private readonly TaskCompletionSource _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _outputEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Counts uses of the pipe writer. A send that uses its memory when the connection ends completes it.
    private UseCount _writer;

    // The result of a read belongs to the loop until it completes _taken, for which a pause makes it wait.
    private ReadOnlySequence<byte> _received;
    private SequencePosition _position;
    private TaskCompletionSource? _taken;

    // The reason why no read follows.
    private Exception? _readsEnded;
    private CancellationToken _peerClosed;

    // Whether a canceled read has found no input: set by the reading thread, then taken by the loop for its turn.
    private bool _wasEmpty;
    private bool _isEmpty;
    private bool _isHalfClosed;
    private bool _isClosed;
    private bool _closedByServer;
    private bool _mustAbort;
    private bool _sendFailed;

    public PipeConnection(ConnectionContext context, EventLoop loop, ConnectionManager manager)
        : base(loop, manager)
    {
        _context = context;
    }

    public override bool CanReset => false;
    public override bool? HasInput => _isEmpty ? false : null;
    private bool MustPause => Connection.IsReceivePaused && !_isHalfClosed;

    public override string DescribePeer() => PeerAddress.Describe(_context.RemoteEndPoint);

    public async Task RunAsync()
    {
        Loop.CountSource(1);
        try
        {
            _peerClosed = _context.ConnectionClosed;
            using var registration = _peerClosed.UnsafeRegister(
                static connection => ((PipeConnection)connection!).Post(), this);
            await ReadAsync().ConfigureAwait(false);
            Volatile.Write(ref _readsEnded, CreateCloseReason());
        }
        catch (Exception exception)
        {
            Volatile.Write(ref _readsEnded, exception);
        }

        Post();
        await _closed.Task.ConfigureAwait(false);
        EndOutput();
        if (_writer.IsUsed)
        {
            AbortTransport("The connection is closed during a send.");
            // If the peer reads nothing, the send never ends unless the transport ends it.
            TryInvoke(static transport => transport.Output.CancelPendingFlush());
        }

        await _outputEnded.Task.ConfigureAwait(false);
        TryInvoke(static transport => transport.Input.Complete());
        await DisposeContextAsync().ConfigureAwait(false);
    }

    public override void ResumeReceiving() => Post();

    public override bool Send(BufferBlock chain)
    {
        // Bytes were lost, so the peer would misread later ones.
        if (Volatile.Read(ref _sendFailed) || !_writer.TryBegin())
            return true;

        var transfer = WriteAllAsync(chain);
        if (!transfer.IsCompletedSuccessfully)
        {
            _ = EndSendAsync(transfer.AsTask());
            return false;
        }

        EndSend();
        return true;
    }

    public override void CloseNow()
    {
        if (_isClosed)
            return;

        // Either this thread sees a result that is being posted, or the reading thread sees that none will take it.
        Interlocked.Exchange(ref _isClosed, true);
        Loop.CountSource(-1);
        Connection.OnClosed(Volatile.Read(ref _readsEnded) ?? CreateCloseReason());
        Volatile.Read(ref _taken)?.TrySetResult();
        ThreadRoot.Queue(this, static connection => connection.EndPipes(), Connection.Context.Log);
    }

    protected override void OnTurn()
    {
        if (_isClosed)
            return;

        // A web server that disconnected accepts no response, so its unreceived input does not matter.
        if (Volatile.Read(ref _readsEnded) is not null || (MustPause && _peerClosed.IsCancellationRequested))
        {
            CloseNow();
            return;
        }

        Receive();
        _isEmpty = Interlocked.Exchange(ref _wasEmpty, false);
        var action = Connection.DecideClose();
        if (action is CloseAction.Close or CloseAction.Reset)
        {
            _closedByServer = true;
            _mustAbort = action == CloseAction.Reset;
            CloseNow();
        }
        else if (action == CloseAction.HalfClose)
        {
            _isHalfClosed = true;
            EndOutput();
            Receive();
        }
        else if (action == CloseAction.CheckInput)
        {
            ThreadRoot.Queue(this, static connection => connection.CancelRead(), Connection.Context.Log);
        }
    }

    private static ConnectionResetException CreateCloseReason() => new("The web server closed the connection.");

    private void Receive()
    {
        if (Volatile.Read(ref _taken) is not { } taken)
            return;

        ref var ready = ref Loop.BeginReady(this);
        while (!MustPause)
        {
            if (!_received.TryGet(ref _position, out var memory))
            {
                Volatile.Write(ref _taken, null);
                taken.SetResult();
                return;
            }

            Connection.OnReceived(memory.Span, ref ready);
        }

        // After the requests that these bytes made ready.
        if (_peerClosed.IsCancellationRequested)
            Post();
    }

    private async Task ReadAsync()
    {
        var input = _context.Transport.Input;
        while (!Volatile.Read(ref _isClosed))
        {
            var result = await input.ReadAsync().ConfigureAwait(false);
            if (result is { IsCanceled: true, IsCompleted: false, Buffer.IsEmpty: true })
            {
                input.AdvanceTo(result.Buffer.End);
                // Input that has arrived since is already in the pipe.
                if (!input.TryRead(out result))
                {
                    Volatile.Write(ref _wasEmpty, true);
                    Post();
                    continue;
                }
            }

            if (!result.Buffer.IsEmpty)
                await GiveToLoopAsync(result.Buffer).ConfigureAwait(false);
            input.AdvanceTo(result.Buffer.End);
            if (result.IsCompleted)
                return;
        }
    }

    private Task GiveToLoopAsync(in ReadOnlySequence<byte> received)
    {
        var taken = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _received = received;
        _position = received.Start;
        Volatile.Write(ref _taken, taken);
        Post();
        Interlocked.MemoryBarrier();
        return Volatile.Read(ref _isClosed) ? Task.CompletedTask : taken.Task;
    }

    private void EndPipes()
    {
        if (_mustAbort)
            AbortTransport("The connection was closed by the server.");
        else
            EndOutput();
        CancelRead();
        _closed.SetResult();
    }

    private void CancelRead() => TryInvoke(static transport => transport.Input.CancelPendingRead());

    /// <summary>Limits the time in which a transport sends the rest of its pipe: the peer may read nothing.</summary>
    private async Task DisposeContextAsync()
    {
        var disposing = _context.DisposeAsync().AsTask();
        try
        {
            var limits = Connection.Context.Options.Limits;
            // If the server closes the connection, the peer may still read.
            var limit = _closedByServer ? limits.SendTimeout ?? s_longestTimer : limits.LingerTimeout;
            var timeout = limit < s_longestTimer ? limit : Timeout.InfiniteTimeSpan;
            await disposing.WaitAsync(timeout, Connection.Context.Time).ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            AbortTransport("The web server did not accept the rest in time.");
        }

        await disposing.ConfigureAwait(false);
    }

    private void AbortTransport(string reason)
        => TryInvoke(_ => _context.Abort(new ConnectionAbortedException(reason)));

    private void TryInvoke(Action<IDuplexPipe> action)
    {
        try
        {
            action(_context.Transport);
        }
        catch (Exception)
        {
            // A custom transport may throw anything. It must not prevent the connection from ending.
        }
    }

    /// <summary>Writes block by block, because the end of each shows that the peer reads.</summary>
    private async ValueTask WriteAllAsync(BufferBlock chain)
    {
        var output = _context.Transport.Output;
        for (var block = chain; block is not null && !Connection.Output.IsSendCut; block = block.Next)
        {
            output.Write(block.UsedSpan);
            // If it is completed, nothing reads the written bytes.
            if (await output.FlushAsync().ConfigureAwait(false) is { IsCanceled: true } or { IsCompleted: true })
                throw new OperationCanceledException();
            Connection.Output.OnSendProgress();
        }
    }

    private async Task EndSendAsync(Task transfer)
    {
        // A custom transport may throw anything.
        await transfer.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!transfer.IsCompletedSuccessfully)
        {
            // The bytes are lost, and so is the connection, although reads may still succeed.
            Volatile.Write(ref _sendFailed, true);
            Connection.Fail(canSend: false);
        }

        EndSend();
        Connection.Output.OnSent();
    }

    private void EndSend()
    {
        if (_writer.End())
            CompleteOutput();
    }

    private void EndOutput()
    {
        if (_writer.Close())
            CompleteOutput();
    }

    private void CompleteOutput()
    {
        // Without the exception, a writer over a stream sends the lost bytes again.
        var error = Volatile.Read(ref _sendFailed) ? new ConnectionAbortedException("A send failed.") : null;
        TryInvoke(transport => transport.Output.Complete(error));
        _outputEnded.TrySetResult();
    }
}
