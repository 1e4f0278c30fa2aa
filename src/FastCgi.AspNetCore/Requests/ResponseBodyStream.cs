namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The application's <c>Response.Body</c>: another view of <see cref="ResponseBodyWriter"/>. Disposing it does not end
/// the response.
/// </summary>
internal sealed class ResponseBodyStream(FastCgiResponse response) : Stream
{
    public override bool CanRead => false;
    public override bool CanSeek => false;
    public override bool CanWrite => true;
    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override void Write(byte[] buffer, int offset, int count)
    {
        ValidateBufferArguments(buffer, offset, count);
        response.ThrowIfSynchronousIONotAllowed("WriteAsync");
        WriteAsync(buffer.AsMemory(offset, count), CancellationToken.None).AsTask().GetAwaiter().GetResult();
    }

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        response.ThrowIfSynchronousIONotAllowed("WriteAsync");
        WriteAsync(buffer.ToArray(), CancellationToken.None).AsTask().GetAwaiter().GetResult();
    }

    public override void Flush()
    {
        response.ThrowIfSynchronousIONotAllowed("WriteAsync");
        FlushAsync(CancellationToken.None).GetAwaiter().GetResult();
    }

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken)
    {
        ValidateBufferArguments(buffer, offset, count);
        return WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();
    }

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        => Discard(response.WriteAsync(buffer, cancellationToken));

    public override Task FlushAsync(CancellationToken cancellationToken)
        => Discard(response.FlushAsync(cancellationToken)).AsTask();

    public override IAsyncResult BeginWrite(
        byte[] buffer, int offset, int count, AsyncCallback? callback, object? state)
        => TaskToAsyncResult.Begin(WriteAsync(buffer, offset, count, CancellationToken.None), callback, state);

    public override void EndWrite(IAsyncResult asyncResult) => TaskToAsyncResult.End(asyncResult);

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    private static ValueTask Discard(ValueTask<FlushResult> flush)
    {
        if (!flush.IsCompletedSuccessfully)
            return new ValueTask(flush.AsTask());

        flush.GetAwaiter().GetResult();
        return ValueTask.CompletedTask;
    }
}

/// <summary>The application's <c>Response.BodyWriter</c>.</summary>
internal sealed class ResponseBodyWriter(FastCgiResponse response) : PipeWriter
{
    public override bool CanGetUnflushedBytes => true;
    public override long UnflushedBytes => response.GetUnflushedBytes();

    public override Memory<byte> GetMemory(int sizeHint = 0) => response.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => response.GetMemory(sizeHint, isSpan: true).Span;

    public override void Advance(int bytes) => response.Advance(bytes);

    public override ValueTask<FlushResult> WriteAsync(
        ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
        => response.WriteAsync(source, cancellationToken);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
        => response.FlushAsync(cancellationToken);

    public override void CancelPendingFlush() => response.CancelPendingFlush();

    public override void Complete(Exception? exception = null)
    {
        var completion = response.CompleteAsync(exception);
        if (completion.IsCompleted)
            completion.GetAwaiter().GetResult();
        else
            _ = completion.AsTask();
    }

    public override ValueTask CompleteAsync(Exception? exception = null) => response.CompleteAsync(exception);
}
