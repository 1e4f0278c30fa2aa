using System.IO.Pipelines;
using FastCgi.AspNetCore.Protocol;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.Responses;

/// <content>What the application writes, through <c>Response.Body</c> and <c>Response.BodyWriter</c> alike.</content>
internal sealed partial class FastCgiResponse
{
    private ResponseBodyWriter? _writer;
    private ResponseBodyStream? _stream;
    private int _generation;
    private long _bytesWritten;
    private bool _canWriteBody;
    private bool _isBodyOpen;

    /// <inheritdoc/>
    public PipeWriter Writer
    {
        get
        {
            // Without the lock: the generation in it decides what it may do.
            var generation = _generation;
            if (!_isBodyOpen)
                return new ResponseBodyWriter(this, generation - 1);

            return _writer is { } writer && writer.Generation == generation ? writer : _writer = new ResponseBodyWriter(this, generation);
        }
    }

    /// <inheritdoc/>
    public Stream Stream
    {
        get
        {
            var generation = _generation;
            if (!_isBodyOpen)
                return new ResponseBodyStream(this, generation - 1);

            return _stream is { } stream && stream.Generation == generation ? stream : _stream = ResponseBodyStream.Open(this, generation);
        }
    }

    /// <summary>Whether the application may use synchronous writes.</summary>
    public bool AllowSynchronousIO { get; set; }

    /// <summary>What the application has written, be it sent or not.</summary>
    public long BytesWritten => _bytesWritten;

#pragma warning disable CS0618 // IHttpResponseFeature.Body is obsolete for applications, yet a server must have it.
    /// <inheritdoc/>
    Stream IHttpResponseFeature.Body
    {
        get => _lazy?.ReplacedBody ?? Stream;
        set
        {
            ThrowIfClosed();
            Lazy.ReplacedBody = value;
        }
    }
#pragma warning restore CS0618

    /// <summary>Memory to write to.</summary>
    public Memory<byte> GetMemory(int generation, int sizeHint)
    {
        using (_output.EnterLock())
        {
            ThrowIfNotWritable(generation);
            return _output.GetMemory(sizeHint);
        }
    }

    /// <summary>Takes what was written to memory. It does not start the response.</summary>
    public void Advance(int generation, int count)
    {
        var declared = DeclaredLength;
        using (_output.EnterLock())
        {
            ThrowIfStale(generation);
            _output.CheckAdvance(count);
            CountWrite(count, declared);
            if (HasStarted && !_canWriteBody)
                RefuseBody();
            else
                _output.Advance(count);
        }
    }

    /// <summary>The bytes that were written and not flushed.</summary>
    public long GetUnflushedBytes(int generation)
    {
        using (_output.EnterLock())
        {
            ThrowIfStale(generation);
            return _output.UnflushedLength;
        }
    }

    /// <summary>Writes and flushes.</summary>
    public ValueTask<FlushResult> WriteAsync(int generation, ReadOnlyMemory<byte> source, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);

        return HasOnStarting && !HasStarted
            ? WriteSlowAsync(generation, source, cancellationToken)
            : Write(generation, source.Span, isWrite: true, cancellationToken);
    }

    /// <summary>Sends what was written, and the header block if it was not sent.</summary>
    public ValueTask<FlushResult> FlushAsync(int generation, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);

        return HasOnStarting && !HasStarted
            ? FlushSlowAsync(generation, cancellationToken)
            : Write(generation, default, isWrite: false, cancellationToken);
    }

    /// <summary>Makes the pending or the next flush return as cancelled.</summary>
    public void CancelPendingFlush(int generation)
    {
        using (_output.EnterLock())
        {
            ThrowIfStale(generation);
            _output.CancelPendingFlush();
        }
    }

    private void BeginBody()
    {
        // Without the lock: nobody has the new generation yet, and a thread that comes late finds that its own has passed.
        _bytesWritten = 0;
        _canWriteBody = true;
        Volatile.Write(ref _isBodyOpen, true);
    }

    private async ValueTask<FlushResult> WriteSlowAsync(int generation, ReadOnlyMemory<byte> source, CancellationToken cancellationToken)
    {
        await FireOnStartingAsync(generation);
        return await Write(generation, source.Span, isWrite: true, cancellationToken);
    }

    private async ValueTask<FlushResult> FlushSlowAsync(int generation, CancellationToken cancellationToken)
    {
        await FireOnStartingAsync(generation);
        return await Write(generation, default, isWrite: false, cancellationToken);
    }

    /// <summary>Starts the response if need be, stages what is written, and flushes: under one lock.</summary>
    private ValueTask<FlushResult> Write(int generation, ReadOnlySpan<byte> source, bool isWrite, CancellationToken cancellationToken)
    {
        ResponseOutput.PendingFlush flush;
        using (EnterToStart(out var head))
        {
            if (isWrite)
                ThrowIfNotWritable(generation);
            else
                ThrowIfStale(generation);
            if (IsCompleted)
                return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

            if (HasStarted)
                CountWrite(source.Length, _headers.DeclaredLength);
            else
                StartByApplication(in head, source.Length);
            if (isWrite && _canWriteBody)
                _output.Write(source);
            else if (isWrite)
                RefuseBody();

            flush = _output.Flush(IsLikelyLastFlush());
        }

        LogHead();
        return _output.SendAsync(flush, cancellationToken);
    }

    private bool IsLikelyLastFlush()
    {
        var length = _headers.DeclaredLength;
        if (length is null)
        {
            // Without a Content-Length, most responses are written at once.
            return _bytesWritten > 0 && !_isBufferingDisabled && _output.NeedsHeaderBlock;
        }

        if (length != _bytesWritten)
            return false;

        _owner.OnAnswered();
        return true;
    }

    /// <summary>
    /// What the application has declared so far. Asked for without the lock, because before the response starts the headers may be the
    /// application's own.
    /// </summary>
    private long? DeclaredLength => HasStarted ? _headers.DeclaredLength : _applicationHeaders.ContentLength;

    /// <summary>Counts bytes against the declared length; those past it are refused before any of them is taken.</summary>
    private void CountWrite(long length, long? declared)
    {
        CheckWrite(length, declared);
        _bytesWritten += length;
    }

    private void CheckWrite(long length, long? declared)
    {
        if (length > 0 && _bytesWritten + length > declared)
        {
            throw new InvalidOperationException(
                $"Response Content-Length mismatch: too many bytes written ({_bytesWritten + length} of {declared}).");
        }
    }

    private void RefuseBody()
    {
        // An answer to HEAD is written like any other; how much is noted at its end.
        if (!_isHead)
            throw new InvalidOperationException($"Writing to the response body is invalid for responses with status code {_statusCode}.");
    }

    private bool IsCurrent(int generation) => _isBodyOpen && generation == _generation;

    private void ThrowIfStale(int generation)
    {
        if (IsCurrent(generation))
            return;

        throw new ObjectDisposedException(nameof(HttpResponse), "The response body cannot be used after the request has ended.");
    }

    private void ThrowIfNotWritable(int generation)
    {
        ThrowIfStale(generation);
        if (IsCompleted)
            throw new InvalidOperationException("Writing is not allowed after writer was completed.");
    }
}
