namespace FastCgi.AspNetCore.Requests;

/// <summary>The application's <c>Response.Body</c>. Disposing it does not end the response.</summary>
internal sealed class ResponseBodyStream(FastCgiResponse response) : BodyStream
{
    public override bool CanRead => false;
    public override bool CanWrite => true;

    public override void Write(byte[] buffer, int offset, int count)
    {
        ValidateBufferArguments(buffer, offset, count);
        response.ThrowIfSynchronousIONotAllowed("WriteAsync");
        WriteAsync(buffer.AsMemory(offset, count), CancellationToken.None).AsTask().GetAwaiter().GetResult();
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

    public override async ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        => await response.WriteAsync(buffer, cancellationToken).ConfigureAwait(false);

    public override async Task FlushAsync(CancellationToken cancellationToken)
        => await response.FlushAsync(cancellationToken).ConfigureAwait(false);

    public override IAsyncResult BeginWrite(
        byte[] buffer, int offset, int count, AsyncCallback? callback, object? state)
        => TaskToAsyncResult.Begin(WriteAsync(buffer, offset, count, CancellationToken.None), callback, state);

    public override void EndWrite(IAsyncResult asyncResult) => TaskToAsyncResult.End(asyncResult);

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
