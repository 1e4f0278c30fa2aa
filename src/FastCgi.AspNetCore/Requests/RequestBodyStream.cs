using System.Buffers;
using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the application has as <c>Request.Body</c>: another view of what <see cref="RequestBodyReader"/> reads.</summary>
internal sealed class RequestBodyStream(FastCgiRequest request, int generation) : Stream
{
    private int _generation = generation;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>Gives the stream out for another request.</summary>
    public void Begin(int generation) => _generation = generation;

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        var result = await request.ReadBodyAsync(_generation, cancellationToken).ConfigureAwait(false);
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
        request.ThrowIfSynchronousIONotAllowed();
        return Take(request.ReadBodyAsync(_generation, CancellationToken.None).AsTask().GetAwaiter().GetResult(), buffer);
    }

    public override async Task CopyToAsync(Stream destination, int bufferSize, CancellationToken cancellationToken)
    {
        ValidateCopyToArguments(destination, bufferSize);
        while (true)
        {
            var result = await request.ReadBodyAsync(_generation, cancellationToken).ConfigureAwait(false);
            ThrowIfCanceled(result);
            foreach (var segment in result.Buffer)
                await destination.WriteAsync(segment, cancellationToken).ConfigureAwait(false);

            request.AdvanceBody(_generation, result.Buffer.End, result.Buffer.End);
            if (result.IsCompleted)
                return;
        }
    }

    public override void CopyTo(Stream destination, int bufferSize)
    {
        request.ThrowIfSynchronousIONotAllowed();
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

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) => throw new NotSupportedException();

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    private int Take(ReadResult result, Span<byte> buffer)
    {
        ThrowIfCanceled(result);
        var count = (int)Math.Min(result.Buffer.Length, buffer.Length);
        var taken = result.Buffer.Slice(0, count);
        taken.CopyTo(buffer);
        request.AdvanceBody(_generation, taken.End, taken.End);
        return count;
    }

    private void ThrowIfCanceled(ReadResult result)
    {
        if (!result.IsCanceled)
            return;

        request.AdvanceBody(_generation, result.Buffer.Start, result.Buffer.Start);
        throw new OperationCanceledException("The read was canceled");
    }
}
