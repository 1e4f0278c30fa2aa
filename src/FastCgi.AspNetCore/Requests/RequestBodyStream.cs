namespace FastCgi.AspNetCore.Requests;

/// <summary>The application's <c>Request.Body</c>, another view of <see cref="RequestBody"/>.</summary>
internal sealed class RequestBodyStream(FastCgiRequest request) : BodyStream
{
    public override bool CanRead => true;
    public override bool CanWrite => false;

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        var result = await request.Body.ReadAsync(cancellationToken).ConfigureAwait(false);
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
        request.Response.ThrowIfSynchronousIONotAllowed("ReadAsync");
        var result = request.Body.ReadAsync(CancellationToken.None).AsTask().GetAwaiter().GetResult();
        return Take(result, buffer.AsSpan(offset, count));
    }

    public override Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
    {
        ValidateCopyToArguments(destination, bufferSize);
        return request.Body.CopyToAsync(destination, cancellationToken);
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

    private int Take(ReadResult result, Span<byte> buffer)
    {
        if (result.IsCanceled)
        {
            // Releases the result, and consumes nothing.
            request.Body.AdvanceTo(default, default, isRestLeased: false);
            throw new OperationCanceledException("The read was canceled");
        }

        var count = (int)Math.Min(result.Buffer.Length, buffer.Length);
        var taken = result.Buffer.Slice(0, count);
        taken.CopyTo(buffer);
        request.Body.AdvanceTo(taken.End, taken.End, isRestLeased: false);
        return count;
    }
}
