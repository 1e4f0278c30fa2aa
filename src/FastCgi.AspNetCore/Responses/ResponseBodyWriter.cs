using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// What the application has as <c>Response.BodyWriter</c>: the response and the generation it was given out for, so that one that
/// is kept beyond its request never touches the next.
/// </summary>
internal sealed class ResponseBodyWriter(FastCgiResponse response, int generation) : PipeWriter
{
    /// <summary>The response that it was given out for.</summary>
    public int Generation => generation;

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => response.GetUnflushedBytes(generation);

    public override Memory<byte> GetMemory(int sizeHint = 0) => response.GetMemory(generation, sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => response.GetMemory(generation, sizeHint).Span;

    public override void Advance(int bytes) => response.Advance(generation, bytes);

    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
        => response.WriteAsync(generation, source, cancellationToken);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
        => response.FlushAsync(generation, cancellationToken);

    public override void CancelPendingFlush() => response.CancelPendingFlush(generation);

    public override void Complete(Exception? exception = null) => response.BeginComplete(generation, exception);

    public override ValueTask CompleteAsync(Exception? exception = null) => response.CompleteAsync(generation, exception);
}
