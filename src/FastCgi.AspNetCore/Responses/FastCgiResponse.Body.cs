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
    private bool _isHeadBodyNoted;

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

    /// <inheritdoc/>
    public void DisableBuffering()
    {
        if (!HasStarted)
            _headers.TryAppend("X-Accel-Buffering", "no");
    }

    /// <inheritdoc/>
    public Task StartAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        return StartAsync(_generation, writeLength: 0).AsTask();
    }

    /// <inheritdoc/>
    public Task CompleteAsync() => CompleteAsync(_generation, exception: null).AsTask();

    /// <inheritdoc/>
    public Task SendFileAsync(string path, long offset, long? count, CancellationToken cancellationToken = default)
        => SendFileFallback.SendFileAsync(Stream, path, offset, count, cancellationToken);

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
            ThrowIfNotWritable(generation);
            _output.CheckAdvance(count);
            CountWrite(count);
            if (HasStarted && !_canWriteBody)
                RefuseBody(count);
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
        return _output.FlushAsync(cancellationToken);
    }

    /// <summary>Sends what was written, and the header block if it was not sent.</summary>
    public ValueTask<FlushResult> FlushAsync(int generation, CancellationToken cancellationToken)
    {
        if (cancellationToken.IsCancellationRequested)
            return ValueTask.FromCanceled<FlushResult>(cancellationToken);

        if (IsCompleted && IsCurrent(generation))
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: false, isCompleted: true));

        var start = StartAsync(generation, writeLength: 0);
        return start.IsCompletedSuccessfully ? _output.FlushAsync(cancellationToken) : FlushStartedAsync(start, cancellationToken);
    }

    /// <summary>Makes the pending or the next flush return as cancelled.</summary>
    public void CancelPendingFlush(int generation)
    {
        lock (_output)
            ThrowIfStale(generation);
        _output.CancelPendingFlush();
    }

    /// <summary>The task of a <see cref="PipeWriter.Complete"/>, which cannot wait for it.</summary>
    public Task? Completion { get; private set; }

    /// <summary>Begins to end the response, for a caller that cannot wait.</summary>
    public void BeginComplete(int generation, Exception? exception)
    {
        var completion = CompleteAsync(generation, exception);
        if (completion.IsCompleted)
            completion.GetAwaiter().GetResult();
        else
            Completion = completion.AsTask();
    }

    /// <summary>Ends the response while the application may go on.</summary>
    public async ValueTask CompleteAsync(int generation, Exception? exception)
    {
        lock (_output)
            ThrowIfStale(generation);

        if (IsCompleted)
            return;

        if (exception is not null)
        {
            _owner.ReportApplicationError(new ConnectionAbortedException("The response body was completed with an exception.", exception));
            return;
        }

        await StartAsync(generation, writeLength: 0);
        if (GetLengthMismatch() is { } mismatch)
            throw mismatch;

        if (!TryComplete(generation))
            return;

        await FinishAsync();
    }

    /// <summary>Ends the response: END_REQUEST is in the line, and sent unless this thread is about to flush anyway.</summary>
    /// <param name="status">What END_REQUEST says.</param>
    public ValueTask<FlushResult> FinishAsync(ProtocolStatus status = ProtocolStatus.RequestComplete)
    {
        _phase = Phase.Completed;
        var isLast = _owner.OnResponseEnding();
        _output.End(status, isLast);
        _owner.OnResponseEnded();
        return _output.DrainAsync();
    }

    /// <summary>Makes status and headers final, for a request that is at its end.</summary>
    public void StartAtEnd()
    {
        lock (_output)
        {
            if (!HasStarted)
                Start();
        }
    }

    /// <summary>The error of an application that wrote less than its Content-Length.</summary>
    public InvalidOperationException? GetLengthMismatch()
    {
        var declared = _applicationHeaders.ContentLength;
        var isExempt = _owner.IsHeadRequest || StatusCode == StatusCodes.Status304NotModified;
        return declared is not null && !isExempt && _bytesWritten < declared
            ? new InvalidOperationException($"Response Content-Length mismatch: too few bytes written ({_bytesWritten} of {declared}).")
            : null;
    }

    /// <summary>The application has returned: from now on it cannot write.</summary>
    public void CloseBody()
    {
        lock (_output)
        {
            if (!_isBodyOpen)
                return;

            _isBodyOpen = false;
            _generation++;
            _output.EndLease();
        }
    }

    private void BeginBody()
    {
        lock (_output)
        {
            _isBodyOpen = true;
            _bytesWritten = 0;
            _canWriteBody = true;
            _isHeadBodyNoted = false;
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

    /// <returns>Whether the write was counted, because it started the response.</returns>
    private ValueTask<bool> StartAsync(int generation, int writeLength)
    {
        lock (_output)
        {
            ThrowIfStale(generation);
            _output.EndLease();
            if (HasStarted)
                return new ValueTask<bool>(false);

            if (!HasOnStarting)
            {
                StartWithWrite(writeLength);
                return new ValueTask<bool>(true);
            }
        }

        return StartSlowAsync(generation, writeLength);
    }

    private async ValueTask<bool> StartSlowAsync(int generation, int writeLength)
    {
        try
        {
            await FireOnStartingAsync();
        }
        catch (Exception exception)
        {
            _owner.ReportApplicationError(exception);
            throw new ObjectDisposedException("The response has been aborted due to an unhandled application exception.", exception);
        }

        lock (_output)
        {
            ThrowIfStale(generation);
            if (HasStarted)
                return false;

            StartWithWrite(writeLength);
            return true;
        }
    }

    private void StartWithWrite(int writeLength)
    {
        CountWrite(writeLength);
        Start();
    }

    private async ValueTask<FlushResult> WriteStartedAsync(
        ValueTask<bool> start, int generation, ReadOnlyMemory<byte> source, CancellationToken cancellationToken)
    {
        var isCounted = await start;
        StageWrite(generation, source.Span, isCounted);
        return await _output.FlushAsync(cancellationToken);
    }

    private async ValueTask<FlushResult> FlushStartedAsync(ValueTask<bool> start, CancellationToken cancellationToken)
    {
        await start;
        return await _output.FlushAsync(cancellationToken);
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
                RefuseBody(source.Length);
        }
    }

    /// <summary>Counts bytes against the declared length; those past it are refused before any of them is taken.</summary>
    private void CountWrite(int length)
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

    private void RefuseBody(int length)
    {
        if (length == 0)
            return;

        if (!_owner.IsHeadRequest)
            throw new InvalidOperationException($"Writing to the response body is invalid for responses with status code {_statusCode}.");

        if (!_isHeadBodyNoted)
            _owner.OnHeadBodyWritten(length);
        _isHeadBodyNoted = true;
    }

    private bool TryComplete(int generation)
    {
        lock (_output)
        {
            ThrowIfStale(generation);
            if (IsCompleted)
                return false;

            _phase = Phase.Completed;
            return true;
        }
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
