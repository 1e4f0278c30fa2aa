using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What the application has as <c>Request.BodyReader</c>: the request and the generation it was given out for, so that one that is
/// kept beyond its request never touches the next.
/// </summary>
internal sealed class RequestBodyReader(RequestInput input, int generation) : PipeReader
{
    /// <summary>The request that it was given out for.</summary>
    public int Generation => generation;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        => input.ReadAsync(generation, cancellationToken);

    public override bool TryRead(out ReadResult result) => input.TryRead(generation, out result);

    public override void AdvanceTo(SequencePosition consumed) => input.AdvanceTo(generation, consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => input.AdvanceTo(generation, consumed, examined);

    public override void CancelPendingRead() => input.CancelPendingRead(generation);

    public override void Complete(Exception? exception = null) => input.CompleteReader(generation, exception);

    public override Task CopyToAsync(PipeWriter destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(destination);
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled(cancellationToken)
            : RequestBodyStream.Open(input, generation).CopyToAsync(destination, cancellationToken);
    }

    public override Task CopyToAsync(Stream destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(destination);
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled(cancellationToken)
            : RequestBodyStream.Open(input, generation).CopyToAsync(destination, cancellationToken);
    }

    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(int minimumSize, CancellationToken cancellationToken)
        => input.ReadAtLeastAsync(generation, minimumSize, cancellationToken);
}
