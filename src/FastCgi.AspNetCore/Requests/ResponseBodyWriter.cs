using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the application has as <c>Response.BodyWriter</c>.</summary>
internal sealed class ResponseBodyWriter(FastCgiResponse response) : PipeWriter
{
    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => response.GetUnflushedBytes();

    public override Memory<byte> GetMemory(int sizeHint = 0) => response.GetMemory(sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => response.GetMemory(sizeHint).Span;

    public override void Advance(int bytes) => response.Advance(bytes);

    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
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
