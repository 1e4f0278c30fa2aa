using System.Net;
using System.Net.Sockets;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Execution;
using FastCgi.AspNetCore.Linux;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// A connection of the Socket engine, which runs on every system: one receive is under way all the time, armed again before the
/// application runs, so that the end of the connection is noticed while a handler works.
/// </summary>
internal sealed class SocketConnection : ConnectionTransport
{
    // Receives that are taken at once before the requests they made ready are executed.
    private const int MaxReceivesInARow = 4;

    // Whose turn it is to receive. While what was received is parsed, the thread that does so goes on; whoever wants to resume then only
    // tells it so, because there is one buffer.
    private const int Receiving = 0;
    private const int Resumed = 1;
    private const int Paused = 2;

    private readonly Socket _socket;
    private readonly BufferPool _pool;
    private readonly SocketAsyncEventArgs _receive = new(/* without execution context */ true);
    private readonly SocketAsyncEventArgs _send = new(/* without execution context */ true);
    private readonly FastCgiConnection _connection;
    private readonly RequestScheduler _scheduler;
    private readonly ILogger _log;
    private BufferBlock? _receiveBlock;
    private List<ArraySegment<byte>>? _sendList;
    private int _lastLength;
    private int _turn = Paused;
    private Exception? _receiveFailure;
    private bool _holdsInput;
    private int _isClosed;

    public SocketConnection(Socket socket, ConnectionManager manager, RequestScheduler scheduler)
    {
        _scheduler = scheduler;
        _socket = socket;
        _pool = manager.Server.Buffers;
        _log = manager.Server.Log;
        _receive.Completed += (_, _) => ThreadRoot.Run(this, static connection => connection.OnReceived(), _log, static connection => connection.OnFailed());
        _send.Completed += (_, _) => ThreadRoot.Run(this, static connection => connection.OnSent(), _log, static connection => connection.OnFailed());
        _connection = new FastCgiConnection(manager, this);
    }

    /// <inheritdoc/>
    public override bool CanReset => _socket.AddressFamily != AddressFamily.Unix;

    /// <inheritdoc/>
    public override long? UndeliveredLength => _socket.AddressFamily == AddressFamily.Unix ? 0 : GetUndeliveredLength();

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint
    {
        get
        {
            try
            {
                return _socket.RemoteEndPoint;
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                return null;
            }
        }
    }

    /// <inheritdoc/>
    public override string DescribePeer() => PeerAddress.DescribeProcess(_socket) ?? base.DescribePeer();

    /// <summary>The connection whose bytes these are.</summary>
    public FastCgiConnection Connection => _connection;

    /// <summary>Begins to receive.</summary>
    /// <returns>Why it cannot; the connection ends then. <see langword="null"/> if it can.</returns>
    public Exception? Start()
    {
        ResumeReceiving();
        return Volatile.Read(ref _receiveFailure);
    }

    /// <inheritdoc/>
    public override void ResumeReceiving()
    {
        if (Interlocked.Exchange(ref _turn, Resumed) == Paused && !StartReceive())
            QueueReceived();
    }

    /// <inheritdoc/>
    public override bool Send(BufferBlock chain)
    {
        try
        {
            if (chain.Next is null)
            {
                _send.BufferList = null;
                _send.SetBuffer(chain.UsedMemory);
            }
            else
            {
                _sendList ??= [];
                _sendList.Clear();
                for (var block = chain; block is not null; block = block.Next)
                    _sendList.Add(block.UsedSegment);
                _send.SetBuffer(default);
                _send.BufferList = _sendList;
            }

            if (_socket.SendAsync(_send))
                return false;
        }
        catch (ObjectDisposedException)
        {
            return true;
        }
        catch (Exception)
        {
            // The system has refused, in whatever way .NET tells of it. The bytes are lost, and so is the connection.
            _connection.Reset();
            return true;
        }

        CheckSent();
        return true;
    }

    /// <inheritdoc/>
    public override void End()
    {
        try
        {
            switch (_connection.DecideEnd())
            {
                case EndAction.None:
                case EndAction.ResetUnlessInput when Volatile.Read(ref _holdsInput) || _socket.Available > 0 || !_connection.TryEndLeaving():
                    return;
                case EndAction.HalfClose:
                    _socket.Shutdown(SocketShutdown.Send);
                    ResumeReceiving();
                    return;
                case var action:
                    CloseSocket(isReset: action != EndAction.Close);
                    return;
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            CloseSocket(isReset: false);
        }
    }

    /// <summary>
    /// Does not throw, for the requests that came before are still to be run: what fails is the result of the receive. Without memory or
    /// watches of epoll, .NET throws all kinds of exceptions.
    /// </summary>
    /// <returns>Whether the receive is under way; if not, it is done.</returns>
    private bool StartReceive()
    {
        try
        {
            FitReceiveBlock();
            _receive.SetBuffer(_receiveBlock!.Memory);
            if (_socket.ReceiveAsync(_receive))
                return true;

            // It may wait for a thread before it is parsed.
            Volatile.Write(ref _holdsInput, true);
            return false;
        }
        catch (ObjectDisposedException)
        {
            _receive.SocketError = SocketError.OperationAborted;
            return false;
        }
        catch (Exception exception)
        {
            Volatile.Write(ref _receiveFailure, exception);
            _receive.SocketError = SocketError.SystemNotReady;
            return false;
        }
    }

    private long? GetUndeliveredLength()
    {
        if (!OperatingSystem.IsLinux())
            return null;

        try
        {
            return Libc.GetUndeliveredLength(_socket.SafeHandle);
        }
        catch (ObjectDisposedException)
        {
            return 0;
        }
    }

    private void OnReceived()
    {
        var ready = new ReadyRequests();
        for (var i = 0; i < MaxReceivesInARow; i++)
        {
            if (!TakeReceived(ref ready) || StartReceive())
            {
                _scheduler.Run(ref ready, _connection.Output);
                return;
            }
        }

        // The peer sends faster than we parse: others go on with that while this thread runs what is ready.
        QueueReceived();
        _scheduler.Run(ref ready, _connection.Output);
    }

    private void QueueReceived()
        => ThreadRoot.Queue(this, static connection => connection.OnReceived(), _log, static connection => connection.OnFailed());

    /// <summary>What fails in an event of this connection ends it, and no other.</summary>
    private void OnFailed()
    {
        _connection.Reset();
        // A receive may be under way: then the system still writes to it.
        if (_receiveBlock is not null)
            _receiveBlock.IsLeased = true;
        OnClosed(SocketError.OperationAborted);
    }

    /// <returns>Whether to receive further.</returns>
    private bool TakeReceived(ref ReadyRequests ready)
    {
        Volatile.Write(ref _holdsInput, true);
        var length = _receive.BytesTransferred;
        if (_receive.SocketError != SocketError.Success || length == 0)
        {
            var error = _receive.SocketError;
            CloseSocket(isReset: _connection.DecideEnd() == EndAction.Reset);
            OnClosed(error);
            return false;
        }

        _lastLength = length;
        // Set before, for the application may have read enough to resume before we know that we pause.
        Volatile.Write(ref _turn, Receiving);
        var goOn = _connection.OnReceived(_receiveBlock!.Span[..length], ref ready);
        Volatile.Write(ref _holdsInput, false);
        return goOn || Interlocked.CompareExchange(ref _turn, Paused, Receiving) != Receiving;
    }

    /// <summary>A peer that fills a small block gets a large one, until it has nothing more to fill it with.</summary>
    private void FitReceiveBlock()
    {
        var wanted = _lastLength < BufferPool.SmallBlockSize ? BufferPool.SmallBlockSize : BufferPool.LargeBlockSize;
        if (_receiveBlock is not null && _receiveBlock.Capacity == wanted)
            return;

        _receiveBlock?.Return();
        _receiveBlock = _pool.RentBlock(wanted);
    }

    private void OnSent()
    {
        CheckSent();
        _connection.Output.OnSent();
    }

    private void CheckSent()
    {
        // The receive that is under way ends with it, and ends the connection.
        if (_send.SocketError != SocketError.Success)
            _connection.Reset();
    }

    private void CloseSocket(bool isReset)
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
            return;

        try
        {
            // Without the shutdown, .NET resets a connection that it closes while a receive is under way.
            if (!isReset)
                _socket.Shutdown(SocketShutdown.Send);
            else if (_socket.AddressFamily != AddressFamily.Unix)
                _socket.LingerState = new LingerOption(enable: true, seconds: 0);
        }
        catch (SocketException)
        {
            // The peer was faster.
        }

        _socket.Dispose();
        // Whether or not a receive was under way, it ends now, and with it the connection.
        ResumeReceiving();
    }

    /// <summary>The last receive has ended: nothing uses its buffer any more.</summary>
    private void OnClosed(SocketError error)
    {
        _receiveBlock?.Return();
        _receiveBlock = null;
        _receive.Dispose();
        _send.Dispose();
        _connection.OnClosed(error switch
        {
            SocketError.Success => new ConnectionResetException("The web server closed the connection."),
            SocketError.OperationAborted => new ConnectionAbortedException("The connection was closed by the server."),
            _ => new ConnectionResetException("The connection was lost.", _receiveFailure ?? new SocketException((int)error)),
        });
    }
}
