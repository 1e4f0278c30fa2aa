namespace FastCgi.AspNetCore.Requests;

/// <content><c>Response.BodyWriter</c> is the response itself; <c>Response.Body</c> writes through it.</content>
internal sealed partial class FastCgiResponse : PipeWriter
{
    private ResponseBodyStream? _stream;
    private Stream? _replacedBody;

    public PipeWriter Writer => this;
    public Stream Stream => _stream ??= new ResponseBodyStream(this);
    public bool AllowSynchronousIO { get; set; }

    // Obsolete for applications, but a server must implement it.
#pragma warning disable CS0618
    Stream IHttpResponseFeature.Body
    {
        get => _replacedBody ?? Stream;
        set => _replacedBody = value;
    }
#pragma warning restore CS0618

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes
    {
        get
        {
            using var scope = _request.EnterLock();
            return In(scope).UnflushedLength;
        }
    }

    public override Memory<byte> GetMemory(int sizeHint = 0) => Lease(sizeHint, isSpan: false);

    public override Span<byte> GetSpan(int sizeHint = 0) => Lease(sizeHint, isSpan: true).Span;

    /// <summary>Stages the bytes written to the memory. Does not start the response.</summary>
    public override void Advance(int bytes)
    {
        using var scope = _request.EnterLock();
        ThrowIfOver();
        ref var state = ref In(scope);
        state.CheckAdvance(bytes);
        CountWrite(ref state, bytes);
        if (!state.CanWriteBody)
            ThrowIfBodyForbidden();
        else
            state.Advance(bytes);
    }

    public override ValueTask<FlushResult> WriteAsync(
        ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
        => WriteAsync(source, isWrite: true, cancellationToken);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
        => WriteAsync(default, isWrite: false, cancellationToken);

    public override void CancelPendingFlush()
    {
        using var scope = _request.EnterLock();
        ThrowIfOver();
        _request.CancelPendingFlush(scope);
    }

    public void ThrowIfSynchronousIONotAllowed(string alternative)
    {
        if (!AllowSynchronousIO)
            throw new InvalidOperationException(
                $"Synchronous operations are disallowed. Call {alternative} or set AllowSynchronousIO to true instead. "
                    + "It is FastCgi:AllowSynchronousIO in the configuration, and options.AllowSynchronousIO in "
                    + "UseFastCgi.");
    }

    private Memory<byte> Lease(int sizeHint, bool isSpan)
    {
        using var scope = _request.EnterLock();
        ThrowIfNotWritable();
        return In(scope).Lease(sizeHint, isSpan);
    }

    private ValueTask<FlushResult> WriteAsync(
        ReadOnlyMemory<byte> source, bool isWrite, CancellationToken cancellationToken)
    {
        // Check this first: after the end of the request, the token is ignored, as in Kestrel.
        ThrowIfOver();
        cancellationToken.ThrowIfCancellationRequested();
        return HasOnStarting && !HasStarted
            ? WriteSlowAsync(source, isWrite, cancellationToken)
            : Write(source.Span, isWrite, cancellationToken);
    }

    private async ValueTask<FlushResult> WriteSlowAsync(
        ReadOnlyMemory<byte> source, bool isWrite, CancellationToken cancellationToken)
    {
        await FireOnStartingAsync();
        return await Write(source.Span, isWrite, cancellationToken);
    }

    /// <summary>Starts the response if necessary, stages the bytes, and flushes, under one lock.</summary>
    private ValueTask<FlushResult> Write(ReadOnlySpan<byte> source, bool isWrite, CancellationToken cancellationToken)
    {
        EncodedHead? head = HasStarted || IsCompleted ? null : EncodeHeadForApplication();
        bool isHeld;
        try
        {
            using var scope = _request.EnterLock();
            ThrowIfOver();
            ref var state = ref In(scope);
            if (IsCompleted)
            {
                if (isWrite)
                    CheckLateWrite(ref state, source.Length);
                return default;
            }

            if (HasStarted)
                CountWrite(ref state, source.Length);
            else
                Start(scope, head!.Value, source.Length);
            if (isWrite && state.CanWriteBody)
                state.Append(source);
            else if (isWrite)
                ThrowIfBodyForbidden();

            isHeld = Flush(scope, IsLikelyLastFlush(ref state));
        }
        finally
        {
            EndStart();
        }

        return SendAsync(isHeld, cancellationToken);
    }

    private bool IsLikelyLastFlush(ref ResponseStaging state)
    {
        if (state.DeclaredLength is not { } length)
        {
            // Without a Content-Length, most responses are written at once.
            return state.BytesWritten > 0 && !_isBufferingDisabled && state.NeedsHeaderBlock;
        }

        if (length != state.BytesWritten)
            return false;

        _request.OnResponded();
        return true;
    }

    /// <summary>Counts bytes against the declared length. Excess bytes are refused before any are staged.</summary>
    private void CountWrite(ref ResponseStaging state, long length)
    {
        var declared = HasStarted ? state.DeclaredLength : _headers.Table.ContentLength;
        CheckWrite(ref state, length, declared, state.CanWriteBody);
        state.BytesWritten += length;
    }

    private static void CheckWrite(ref ResponseStaging state, long length, long? declared, bool canWriteBody)
    {
        if (state.BytesWritten + length > declared && (length > 0 || canWriteBody))
            throw new InvalidOperationException($"Response Content-Length mismatch: too many bytes written "
                + $"({state.BytesWritten + length} of {declared}).");
    }

    private void ThrowIfBodyForbidden()
    {
        // A response to HEAD is written like any other. The end logs how much.
        if (!_isHead)
            throw new InvalidOperationException($"Writing to the response body is invalid for responses with status "
                + $"code {_statusCode}.");
    }

    /// <summary>After the completion, only an empty write without a length is allowed, as in Kestrel.</summary>
    private void CheckLateWrite(ref ResponseStaging state, int length)
    {
        CountWrite(ref state, length);
        if (!state.CanWriteBody)
            ThrowIfBodyForbidden();
        else if (length > 0 || state.DeclaredLength is not null)
            ThrowIfNotWritable();
    }

    private void ThrowIfOver()
    {
        if (_request.HasReturned)
            throw new ObjectDisposedException(nameof(HttpResponse), "The response body cannot be used after the "
                + "request has ended.");
    }

    private void ThrowIfNotWritable()
    {
        ThrowIfOver();
        if (IsCompleted)
            throw new InvalidOperationException("Writing is not allowed after writer was completed.");
    }
}
