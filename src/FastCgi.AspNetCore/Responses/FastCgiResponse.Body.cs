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

    // An application that was seen to use a body after its request gets new objects for each request: nobody can tell the one
    // that holds an old reference from the one that was given it anew.
    private bool _isStaleUseSeen;

    /// <inheritdoc/>
    public PipeWriter Writer
    {
        get
        {
            lock (_output)
                return _isBodyOpen ? _writer ??= new ResponseBodyWriter(this, _generation) : new ResponseBodyWriter(this, _generation - 1);
        }
    }

    /// <inheritdoc/>
    public Stream Stream
    {
        get
        {
            lock (_output)
                return _isBodyOpen ? _stream ??= new ResponseBodyStream(this, _generation) : new ResponseBodyStream(this, _generation - 1);
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
        get => _replacedBody ?? Stream;
        set => _replacedBody = value;
    }
#pragma warning restore CS0618

    /// <summary>Memory to write to.</summary>
    public Memory<byte> GetMemory(int generation, int sizeHint)
    {
        lock (_output)
        {
            ThrowIfNotWritable(generation);
            return _output.GetMemory(sizeHint);
        }
    }

    /// <summary>Takes what was written to memory. It does not start the response.</summary>
    public void Advance(int generation, int count)
    {
        lock (_output)
        {
            ThrowIfStale(generation);
            _output.CheckAdvance(count);
            CountWrite(count);
            if (HasStarted && !_canWriteBody)
                RefuseBody();
            else
                _output.Advance(count);
        }
    }

    /// <summary>The bytes that were written and not flushed.</summary>
    public long GetUnflushedBytes(int generation)
    {
        lock (_output)
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

        var start = StartAsync(generation, source.Length);
        if (!start.IsCompletedSuccessfully)
            return WriteStartedAsync(start, generation, source, cancellationToken);

        StageWrite(generation, source.Span, isCounted: start.Result);
        return FlushOutputAsync(cancellationToken);
    }

    /// <summary>Sends what was written, and the header block if it was not sent.</summary>
    public ValueTask<FlushResult> FlushAsync(int generation, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);

        if (IsCompleted && IsCurrent(generation))
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

        var start = StartAsync(generation, writeLength: 0);
        return start.IsCompletedSuccessfully ? FlushOutputAsync(cancellationToken) : FlushStartedAsync(start, cancellationToken);
    }

    /// <summary>Makes the pending or the next flush return as cancelled.</summary>
    public void CancelPendingFlush(int generation)
    {
        lock (_output)
            ThrowIfStale(generation);
        _output.CancelPendingFlush();
    }

    private void BeginBody()
    {
        lock (_output)
        {
            _isBodyOpen = true;
            _bytesWritten = 0;
            _canWriteBody = true;
            Completion = null;
            if (_isStaleUseSeen)
            {
                _writer = null;
                _stream = null;
            }

            _writer?.Begin(_generation);
            _stream?.Begin(_generation);
        }
    }

    private async ValueTask<FlushResult> WriteStartedAsync(
        ValueTask<bool> start, int generation, ReadOnlyMemory<byte> source, CancellationToken cancellationToken)
    {
        var isCounted = await start;
        StageWrite(generation, source.Span, isCounted);
        return await FlushOutputAsync(cancellationToken);
    }

    private async ValueTask<FlushResult> FlushStartedAsync(ValueTask<bool> start, CancellationToken cancellationToken)
    {
        await start;
        return await FlushOutputAsync(cancellationToken);
    }

    private ValueTask<FlushResult> FlushOutputAsync(CancellationToken cancellationToken)
    {
        var length = _headers.ContentLength;
        if (length == _bytesWritten)
            _owner.OnResponseAnswered();

        // Without a Content-Length, most responses are written at once.
        var isLikelyLast = length is null ? _bytesWritten > 0 && !_isBufferingDisabled && _output.NeedsHead : length == _bytesWritten;
        return _output.FlushAsync(isLikelyLast, cancellationToken);
    }

    private void StageWrite(int generation, ReadOnlySpan<byte> source, bool isCounted)
    {
        lock (_output)
        {
            ThrowIfNotWritable(generation);
            if (!isCounted)
                CountWrite(source.Length);
            if (_canWriteBody)
                _output.Write(source);
            else
                RefuseBody();
        }
    }

    /// <summary>Counts bytes against the declared length; those past it are refused before any of them is taken.</summary>
    private void CountWrite(long length)
    {
        if (length == 0)
            return;

        if (_applicationHeaders.ContentLength is { } declared && _bytesWritten + length > declared)
        {
            throw new InvalidOperationException(
                $"Response Content-Length mismatch: too many bytes written ({_bytesWritten + length} of {declared}).");
        }

        _bytesWritten += length;
    }

    private void RefuseBody()
    {
        // An answer to HEAD is written like any other; how much is noted at its end.
        if (!_owner.IsHeadRequest)
            throw new InvalidOperationException($"Writing to the response body is invalid for responses with status code {_statusCode}.");
    }

    private bool IsCurrent(int generation) => _isBodyOpen && generation == _generation;

    private void ThrowIfStale(int generation)
    {
        if (IsCurrent(generation))
            return;

        _isStaleUseSeen = true;
        throw new ObjectDisposedException(nameof(HttpResponse), "The response body cannot be used after the request has ended.");
    }

    private void ThrowIfNotWritable(int generation)
    {
        ThrowIfStale(generation);
        if (IsCompleted)
            throw new InvalidOperationException("Writing is not allowed after writer was completed.");
    }
}
