using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Linux;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// A connection over a pair of pipes: Kestrel's sockets where epoll is not available, named pipes, connection middleware, or a transport of
/// the user's. The application runs on other threads, so that this one always receives.
/// </summary>
internal sealed class PipeConnection : ConnectionTransport
{
    // Who is in the writer of the pipe, which is for one thread at a time: a thread that ends the connection must not take memory away
    // that another one is writing to. A thread that wants to complete it while a send is under way leaves that to the send.
    private const int Idle = 0;
    private const int Sending = 1;
    private const int Ending = 2;
    private const int Ended = 3;

    private readonly ConnectionContext _context;

    // What pipes cannot do, the socket behind them can: half-close, reset, and tell what is undelivered.
    private readonly Socket? _socket;
    private readonly FastCgiConnection _connection;
    private readonly RequestScheduler _scheduler;
    private readonly SemaphoreSlim _resume = new(0);
    private readonly TaskCompletionSource _outputEnded = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _writer;
    private bool _isLeaving;
    private bool _isEnding;
    private bool _isLost;

    public PipeConnection(ConnectionContext context, ConnectionManager manager, RequestScheduler scheduler)
    {
        _scheduler = scheduler;
        _context = context;
        _socket = context.Features.Get<IConnectionSocketFeature>()?.Socket;
        _connection = new FastCgiConnection(manager, this);
    }

    /// <inheritdoc/>
    public override bool CanReset => _socket is { AddressFamily: not AddressFamily.Unix };

    /// <inheritdoc/>
    public override long? UndeliveredLength => _socket switch
    {
        null => null,
        // The peer already has what a unix socket has taken.
        { AddressFamily: AddressFamily.Unix } => 0,
        _ => OperatingSystem.IsLinux() ? AskSocket(static socket => Libc.GetUndeliveredLength(socket.SafeHandle), 0) : null,
    };

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint => _context.RemoteEndPoint;

    /// <inheritdoc/>
    public override string DescribePeer() => AskSocket(PeerAddress.DescribeProcess, null) ?? base.DescribePeer();

    /// <summary>The connection whose bytes these are.</summary>
    public FastCgiConnection Connection => _connection;

    /// <summary>Receives until the connection is closed.</summary>
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

        _connection.OnClosed(error);
        if (!TryEndOutput())
        {
            AbortTransport("The connection is closed while a send is under way.");
            // A peer that takes nothing keeps the send for ever, if the transport does not end it by itself.
            _context.Transport.Output.CancelPendingFlush();
        }

        await _outputEnded.Task.ConfigureAwait(false);
        await _context.Transport.Input.CompleteAsync().ConfigureAwait(false);
        await _context.DisposeAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public override void ResumeReceiving() => _resume.Release();

    /// <inheritdoc/>
    public override bool Send(BufferBlock chain)
    {
        // Behind bytes that were lost, the peer would take others for them.
        if (Volatile.Read(ref _isLost) || Interlocked.CompareExchange(ref _writer, Sending, Idle) != Idle)
            return true;

        var output = _context.Transport.Output;
        try
        {
            for (var block = chain; block is not null; block = block.Next)
                output.Write(block.UsedSpan);

            var flush = output.FlushAsync();
            if (!flush.IsCompletedSuccessfully)
            {
                _ = AwaitFlushAsync(flush);
                return false;
            }
        }
        catch (Exception)
        {
            // It may be anybody's pipe. Whatever it was, the bytes are lost, and so is the connection.
            Volatile.Write(ref _isLost, true);
            _connection.Reset();
        }

        EndSend();
        return true;
    }

    /// <inheritdoc/>
    public override void End()
    {
        switch (_connection.DecideEnd())
        {
            case EndAction.None:
                return;
            case EndAction.HalfClose when _socket is not null:
                AskSocket(static socket => Shutdown(socket), false);
                break;
            case EndAction.HalfClose:
                TryEndOutput();
                break;
            case EndAction.ResetUnlessInput:
                // The read that is under way comes back with what there is, if anything.
                Volatile.Write(ref _isLeaving, true);
                _context.Transport.Input.CancelPendingRead();
                break;
            case EndAction.Reset:
                Volatile.Write(ref _isEnding, true);
                AbortTransport("The connection was closed by the server.");
                _context.Transport.Input.CancelPendingRead();
                break;
            default:
                Volatile.Write(ref _isEnding, true);
                TryEndOutput();
                _context.Transport.Input.CancelPendingRead();
                break;
        }

        ResumeReceiving();
    }

    private static bool Shutdown(Socket socket)
    {
        socket.Shutdown(SocketShutdown.Send);
        return true;
    }

    /// <summary>Uses the socket, which the transport may have closed.</summary>
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

    private void AbortTransport(string reason)
    {
        try
        {
            _context.Abort(new ConnectionAbortedException(reason));
        }
        catch (Exception)
        {
            // It may be anybody's transport: what it throws must not keep the connection from its end.
        }
    }

    private async Task ReceiveAsync()
    {
        var input = _context.Transport.Input;
        while (true)
        {
            var result = await input.ReadAsync().ConfigureAwait(false);
            if (result.Buffer.IsEmpty && MustEnd(in result))
                return;

            var goOn = Take(result.Buffer);
            input.AdvanceTo(result.Buffer.End);
            if (Volatile.Read(ref _isEnding))
                return;
            if (!goOn)
                await _resume.WaitAsync().ConfigureAwait(false);
        }
    }

    /// <summary>Whether a read that brought nothing is the last.</summary>
    private bool MustEnd(in ReadResult result)
    {
        if (result.IsCompleted || Volatile.Read(ref _isEnding))
            return true;

        if (!Volatile.Read(ref _isLeaving) || AskSocket(static socket => socket.Available, 0) > 0 || !_connection.TryEndLeaving())
            return false;

        if (CanReset)
            AbortTransport("The connection was idle for too long, or the server stops.");
        return true;
    }

    private bool Take(ReadOnlySequence<byte> data)
    {
        var ready = new ReadyRequests();
        var goOn = true;
        foreach (var segment in data)
            goOn = _connection.OnReceived(segment.Span, ref ready);
        // Elsewhere, because the end of the connection must be noticed while a handler works.
        _scheduler.RunElsewhere(ref ready, _connection.Output);
        return goOn;
    }

    private async Task AwaitFlushAsync(ValueTask<FlushResult> flush)
    {
        try
        {
            await flush.ConfigureAwait(false);
        }
        catch (Exception)
        {
            // The read may fail likewise, or not.
            Volatile.Write(ref _isLost, true);
            _connection.Reset();
        }

        EndSend();
        _connection.Output.OnSent();
    }

    private void EndSend()
    {
        if (Interlocked.CompareExchange(ref _writer, Idle, Sending) != Sending)
            CompleteOutput();
    }

    /// <summary>Completes the writer, now or behind the send that is under way.</summary>
    /// <returns>Whether no send is.</returns>
    private bool TryEndOutput()
    {
        while (true)
        {
            switch (Interlocked.CompareExchange(ref _writer, Ended, Idle))
            {
                case Idle:
                    CompleteOutput();
                    return true;
                case Sending when Interlocked.CompareExchange(ref _writer, Ending, Sending) == Sending:
                case Ending:
                    return false;
                case Ended:
                    return true;
            }
        }
    }

    private void CompleteOutput()
    {
        Volatile.Write(ref _writer, Ended);
        try
        {
            _context.Transport.Output.Complete();
        }
        catch (Exception)
        {
            // Nobody is left who could be told.
        }

        _outputEnded.TrySetResult();
    }
}
