using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// What the application has as <c>Response.BodyWriter</c>: the response and the generation it was given out for, so that one that
/// is kept beyond its request never touches the next.
/// </summary>
internal sealed class ResponseBodyWriter(FastCgiResponse response, int generation) : PipeWriter
{
    private int _generation = generation;

    /// <summary>The response that it was given out for.</summary>
    public int Generation => _generation;

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => response.GetUnflushedBytes(_generation);

    /// <summary>Gives the writer out for another request.</summary>
    public void Begin(int generation) => _generation = generation;

    public override Memory<byte> GetMemory(int sizeHint = 0) => response.GetMemory(_generation, sizeHint);

    public override Span<byte> GetSpan(int sizeHint = 0) => response.GetMemory(_generation, sizeHint).Span;

    public override void Advance(int bytes) => response.Advance(_generation, bytes);

    public override ValueTask<FlushResult> WriteAsync(ReadOnlyMemory<byte> source, CancellationToken cancellationToken = default)
        => response.WriteAsync(_generation, source, cancellationToken);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
        => response.FlushAsync(_generation, cancellationToken);

    public override void CancelPendingFlush() => response.CancelPendingFlush(_generation);

    public override void Complete(Exception? exception = null) => response.BeginComplete(_generation, exception);

    public override ValueTask CompleteAsync(Exception? exception = null) => response.CompleteAsync(_generation, exception);
}
