namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The application's <c>Request.Body</c>, another view of what <see cref="RequestBodyReader"/> reads.
/// </summary>
internal sealed class ReceivedStream(RequestInput input) : Stream
{
    public override bool CanRead => true;
    public override bool CanSeek => false;
    public override bool CanWrite => false;
    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        var result = await input.ReadAsync(cancellationToken).ConfigureAwait(false);
        return Take(result, buffer.Span);
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken)
    {
        ValidateBufferArguments(buffer, offset, count);
        return ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();
    }

    public override int Read(byte[] buffer, int offset, int count)
    {
        ValidateBufferArguments(buffer, offset, count);
        return Read(buffer.AsSpan(offset, count));
    }

    public override int Read(Span<byte> buffer)
    {
        input.ThrowIfSynchronousIONotAllowed();
        return Take(input.ReadAsync(CancellationToken.None).AsTask().GetAwaiter().GetResult(), buffer);
    }

    public override Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
    {
        ValidateCopyToArguments(destination, bufferSize);
        return CopyAsync(
            async segment =>
            {
                await destination.WriteAsync(segment, cancellationToken).ConfigureAwait(false);
                return true;
            },
            cancellationToken);
    }

    public override void CopyTo(Stream destination, int bufferSize)
    {
        input.ThrowIfSynchronousIONotAllowed();
        base.CopyTo(destination, bufferSize);
    }

    public override IAsyncResult BeginRead(byte[] buffer, int offset, int count, AsyncCallback? callback, object? state)
        => TaskToAsyncResult.Begin(ReadAsync(buffer, offset, count, CancellationToken.None), callback, state);

    public override int EndRead(IAsyncResult asyncResult) => TaskToAsyncResult.End<int>(asyncResult);

    public override void Flush()
    {
    }

    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken)
        => throw new NotSupportedException();

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    /// <summary>Copies the rest of the body, until the destination is completed.</summary>
    public Task CopyToAsync(PipeWriter destination, CancellationToken cancellationToken) => CopyAsync(
        async segment =>
        {
            var flush = await destination.WriteAsync(segment, cancellationToken).ConfigureAwait(false);
            return flush.IsCanceled
                ? throw new OperationCanceledException("The flush was canceled")
                : !flush.IsCompleted;
        },
        cancellationToken);

    /// <summary>Copies to the end, or until the destination accepts no more.</summary>
    /// <param name="writeAsync">Writes to the destination and returns whether it accepts more.</param>
    private async Task CopyAsync(
        Func<ReadOnlyMemory<byte>, ValueTask<bool>> writeAsync, CancellationToken cancellationToken)
    {
        while (true)
        {
            var result = await input.ReadAsync(cancellationToken).ConfigureAwait(false);
            ThrowIfCanceled(result);
            var consumed = result.Buffer.Start;
            try
            {
                var next = consumed;
                while (result.Buffer.TryGet(ref next, out var segment))
                {
                    // An empty write would start a response.
                    var continues = segment.IsEmpty || await writeAsync(segment).ConfigureAwait(false);
                    consumed = next;
                    if (!continues)
                        return;
                }

                consumed = result.Buffer.End;
            }
            finally
            {
                // If the destination fails, the rest can be read again.
                Advance(consumed);
            }

            if (result.IsCompleted)
                return;
        }
    }

    private void Advance(SequencePosition consumed) => input.AdvanceTo(consumed, consumed);

    private int Take(ReadResult result, Span<byte> buffer)
    {
        ThrowIfCanceled(result);
        var count = (int)Math.Min(result.Buffer.Length, buffer.Length);
        var taken = result.Buffer.Slice(0, count);
        taken.CopyTo(buffer);
        Advance(taken.End);
        return count;
    }

    private void ThrowIfCanceled(ReadResult result)
    {
        if (!result.IsCanceled)
            return;

        Advance(result.Buffer.Start);
        throw new OperationCanceledException("The read was canceled");
    }
}
