namespace FastCgi.AspNetCore.Transport;

/// <summary>A connection over pipes. The application runs on other threads, so that this can always receive.</summary>
internal sealed class PipeConnection : ConnectionTransport
{
    private static readonly TimeSpan s_longestTimer = TimeSpan.FromDays(49);

    private readonly ConnectionContext _context;
    private readonly ConnectionManager _manager;

    // For operations that pipes lack: half-close, reset, and the number of undelivered bytes.
    private readonly Socket? _socket;
    private readonly RequestScheduler _scheduler;
    private readonly SemaphoreSlim _resume = new(0);
    private readonly TaskCompletionSource _outputEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);

    // Counts uses of the pipe writer. A send that uses its memory when the connection ends completes it.
    private UseCount _writer;
    private bool _ignoresPause;
    private bool _isLeaving;
    private bool _isEnding;
    private bool _isLost;

    /// <param name="socket">The socket, if nothing, such as TLS, lies between it and the pipes.</param>
    public PipeConnection(
        ConnectionContext context, Socket? socket, ConnectionManager manager, RequestScheduler scheduler)
    {
        _scheduler = scheduler;
        _manager = manager;
        _context = context;
        _socket = socket;
        Connection = new FastCgiConnection(manager, this);
    }

    public override bool CanReset => _socket is { AddressFamily: not AddressFamily.Unix };

    public override long? UndeliveredLength => _socket is null || !OperatingSystem.IsLinux()
        ? null
        : AskSocket(static socket => Libc.GetUndeliveredLength(socket.SafeHandle), 0);

    public override EndPoint? RemoteEndPoint => _context.RemoteEndPoint;

    public override string DescribePeer() => AskSocket(PeerAddress.DescribeProcess, null) ?? base.DescribePeer();

    public FastCgiConnection Connection { get; }

    public async Task RunAsync()
    {
        Exception error = new ConnectionResetException("The web server closed the connection.");
        try
        {
            await ReceiveAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            error = exception;
        }

        Connection.OnClosed(error);
        EndOutput();
        if (_writer.IsUsed)
        {
            AbortTransport("The connection is closed during a send.");
            // If the peer reads nothing, the send never ends unless the transport ends it.
            Ask(static transport => transport.Output.CancelPendingFlush());
        }

        await _outputEnded.Task.ConfigureAwait(false);
        Ask(static transport => transport.Input.Complete());
        await DisposeContextAsync().ConfigureAwait(false);
    }

    /// <summary>Limits the time in which a transport sends the rest of its pipe: the peer may read nothing.</summary>
    private async Task DisposeContextAsync()
    {
        var disposing = _context.DisposeAsync().AsTask();
        try
        {
            var limits = _manager.Server.Options.Limits;
            // If the server closes the connection, the peer may still read.
            var limit = Volatile.Read(ref _isEnding) ? limits.SendTimeout ?? s_longestTimer : limits.LingerTimeout;
            await disposing.WaitAsync(limit < s_longestTimer ? limit : Timeout.InfiniteTimeSpan, _manager.Server.Time)
                .ConfigureAwait(false);
        }
        catch (TimeoutException)
        {
            AbortTransport("The web server did not accept the rest in time.");
        }

        await disposing.ConfigureAwait(false);
    }

    public override void ResumeReceiving() => _resume.Release();

    public override void Run(ref ReadyRequests ready)
        => _scheduler.RunElsewhere(ref ready, Connection.Output, isLoop: false);

    public override bool Send(BufferBlock chain)
    {
        // Bytes were lost, so the peer would misread later ones.
        if (Volatile.Read(ref _isLost) || !_writer.TryBegin())
            return true;

        var transfer = SendAllAsync(chain);
        if (!transfer.IsCompletedSuccessfully)
        {
            _ = EndSendAsync(transfer.AsTask());
            return false;
        }

        EndSend();
        return true;
    }

    /// <summary>Enlarges the send buffer, so that the rest of a record fits sooner.</summary>
    public override void CutSend() => AskSocket(static socket => socket.SendBufferSize = int.MaxValue, 0);

    public override void Close()
    {
        var action = Connection.DecideClose();
        if (action == CloseAction.None)
            return;

        if (action is CloseAction.Close or CloseAction.Reset)
            Volatile.Write(ref _isEnding, true);
        if (action == CloseAction.ResetUnlessInput)
            Volatile.Write(ref _isLeaving, true);
        else if (action == CloseAction.Reset)
            AbortTransport("The connection was closed by the server.");
        else if (action == CloseAction.HalfClose && _socket is not null)
            AskSocket(Shutdown, false);
        else
            EndOutput();
        // The pending read returns available input, if any.
        if (action != CloseAction.HalfClose)
            Ask(static transport => transport.Input.CancelPendingRead());
        Volatile.Write(ref _ignoresPause, true);
        ResumeReceiving();
    }

    private static bool Shutdown(Socket socket)
    {
        socket.Shutdown(SocketShutdown.Send);
        return true;
    }

    /// <summary>Queries the socket, which the transport may have closed.</summary>
    private T AskSocket<T>(Func<Socket, T> ask, T without)
    {
        try
        {
            return _socket is null ? without : ask(_socket);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return without;
        }
    }

    private void AbortTransport(string reason) => Ask(_ => _context.Abort(new ConnectionAbortedException(reason)));

    private void Ask(Action<IDuplexPipe> request)
    {
        try
        {
            request(_context.Transport);
        }
        catch (Exception)
        {
            // A custom transport may throw anything. It must not prevent the connection from ending.
        }
    }

    private async Task ReceiveAsync()
    {
        var input = _context.Transport.Input;
        while (true)
        {
            var result = await input.ReadAsync().ConfigureAwait(false);
            // The thread that canceled the read, such as the clock's, must not continue to receive.
            if (result.IsCanceled)
                await Task.Yield();
            if (IsIdle(in result))
            {
                input.AdvanceTo(result.Buffer.End);
                // Input that has arrived since is in the socket or already in the pipe.
                var isInSocket = AskSocket(static socket => socket.Available, 0) > 0;
                if (!input.TryRead(out result))
                {
                    if (!isInSocket && TryLeave())
                        return;
                    continue;
                }
            }

            if (result.Buffer.IsEmpty && (result.IsCompleted || Volatile.Read(ref _isEnding)))
                return;

            var canReceive = Take(result.Buffer);
            input.AdvanceTo(result.Buffer.End);
            if (Volatile.Read(ref _isEnding))
                return;
            // A permit of an earlier pause may be left.
            while (!canReceive && Connection.IsReceivePaused && !Volatile.Read(ref _ignoresPause))
                await _resume.WaitAsync().ConfigureAwait(false);
        }
    }

    private bool IsIdle(in ReadResult result) => result is { Buffer.IsEmpty: true, IsCompleted: false }
        && Volatile.Read(ref _isLeaving) && !Volatile.Read(ref _isEnding);

    private bool TryLeave()
    {
        if (!Connection.TryCloseIdle())
            return false;

        if (CanReset)
            AbortTransport("The connection was idle for too long, or the server is stopping.");
        return true;
    }

    private bool Take(ReadOnlySequence<byte> data)
    {
        var ready = new ReadyRequests();
        var canReceive = true;
        foreach (var segment in data)
            canReceive = Connection.OnReceived(segment.Span, ref ready);
        // On other threads, because the end of the connection must be noticed while a handler works.
        Run(ref ready);
        return canReceive;
    }

    /// <summary>Sends block by block, because the end of each shows that the peer reads.</summary>
    private async ValueTask SendAllAsync(BufferBlock chain)
    {
        for (var block = chain; block is not null && !Connection.Output.IsSendCut; block = block.Next)
        {
            if (_socket is null)
                await WriteAsync(block).ConfigureAwait(false);
            else
                await SendAsync(_socket, block.UsedMemory).ConfigureAwait(false);
            Connection.Output.OnSendProgress();
        }
    }

    private async ValueTask WriteAsync(BufferBlock block)
    {
        var output = _context.Transport.Output;
        output.Write(block.UsedSpan);
        // If it is completed, nothing reads the written bytes.
        if (await output.FlushAsync().ConfigureAwait(false) is { IsCanceled: true } or { IsCompleted: true })
            throw new OperationCanceledException();
    }

    /// <summary>Sends without the pipe, because its reader continues with later bytes after a failed send.</summary>
    private static async ValueTask SendAsync(Socket socket, ReadOnlyMemory<byte> rest)
    {
        while (rest.Length > 0)
            rest = rest[await socket.SendAsync(rest, SocketFlags.None).ConfigureAwait(false)..];
    }

    private async Task EndSendAsync(Task transfer)
    {
        // A custom transport may throw anything.
        await transfer.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (!transfer.IsCompletedSuccessfully)
        {
            // The bytes are lost, and so is the connection, although reads may still succeed.
            Volatile.Write(ref _isLost, true);
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
        var error = Volatile.Read(ref _isLost) ? new ConnectionAbortedException("A send failed.") : null;
        Ask(transport => transport.Output.Complete(error));
        _outputEnded.TrySetResult();
    }
}
