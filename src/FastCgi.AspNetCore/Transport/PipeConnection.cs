using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Execution;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore.Transport;

/// <summary>
/// A connection over anything that moves bytes through a pair of pipes: named pipes, connection middleware, a transport of the
/// user's own. The application is called on the thread pool.
/// </summary>
internal sealed class PipeConnection : ConnectionTransport
{
    private readonly ConnectionContext _context;
    private readonly FastCgiConnection _connection;
    private readonly RequestScheduler _scheduler;
    private readonly SemaphoreSlim _resume = new(0);
    private bool _isLeaving;
    private bool _isEnding;
    private int _isClosed;

    public PipeConnection(ConnectionContext context, ConnectionManager manager, RequestScheduler scheduler)
    {
        _scheduler = scheduler;
        _context = context;
        _connection = new FastCgiConnection(manager, this);
    }

    /// <inheritdoc/>
    public override bool CanReset => false;

    /// <inheritdoc/>
    public override EndPoint? RemoteEndPoint => _context.RemoteEndPoint;

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
        await _context.Transport.Input.CompleteAsync().ConfigureAwait(false);
        await _context.Transport.Output.CompleteAsync().ConfigureAwait(false);
        await _context.DisposeAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public override void ResumeReceiving() => _resume.Release();

    /// <inheritdoc/>
    public override bool Send(BufferBlock chain)
    {
        var output = _context.Transport.Output;
        try
        {
            for (var block = chain; block is not null; block = block.Next)
                output.Write(block.UsedSpan);

            var flush = output.FlushAsync();
            if (flush.IsCompletedSuccessfully)
                return true;

            _ = AwaitFlushAsync(flush);
            return false;
        }
        catch (InvalidOperationException)
        {
            // The pipe was completed: the connection is ending.
            return true;
        }
    }

    /// <inheritdoc/>
    public override void Close()
    {
        switch (_connection.DecideEnd())
        {
            case EndAction.None:
                return;
            case EndAction.HalfClose:
                _context.Transport.Output.Complete();
                break;
            case EndAction.ResetUnlessInput:
                // The read that is under way comes back with what there is, if anything.
                Volatile.Write(ref _isLeaving, true);
                _context.Transport.Input.CancelPendingRead();
                break;
            default:
                Volatile.Write(ref _isEnding, true);
                _context.Transport.Output.Complete();
                _context.Transport.Input.CancelPendingRead();
                break;
        }

        ResumeReceiving();
    }

    /// <inheritdoc/>
    public override void Reset()
    {
        if (Interlocked.Exchange(ref _isClosed, 1) != 0)
            return;

        Volatile.Write(ref _isEnding, true);
        _context.Abort(new ConnectionAbortedException("The connection was closed by the server."));
        _context.Transport.Input.CancelPendingRead();
        ResumeReceiving();
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
        => result.IsCompleted || Volatile.Read(ref _isEnding) || (Volatile.Read(ref _isLeaving) && _connection.TryEndLeaving());

    private bool Take(ReadOnlySequence<byte> data)
    {
        var ready = new ReadyRequests();
        var goOn = true;
        foreach (var segment in data)
            goOn = _connection.OnReceived(segment.Span, ref ready);
        // Not here, because the end of the connection must be noticed while a handler works.
        _scheduler.RunOnThreadPool(ref ready, _connection.Output);
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
            // The read fails likewise and ends the connection.
        }

        _connection.Output.OnSent();
    }
}
