using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What the application has as <c>Request.BodyReader</c>: the request and the generation it was given out for, so that one that is
/// kept beyond its request never touches the next.
/// </summary>
internal sealed class RequestBodyReader(FastCgiRequest request, int generation) : PipeReader
{
    private int _generation = generation;

    /// <summary>Gives the reader out for another request.</summary>
    public void Begin(int generation) => _generation = generation;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        => request.ReadBodyAsync(_generation, cancellationToken);

    public override bool TryRead(out ReadResult result) => request.TryReadBody(_generation, out result);

    public override void AdvanceTo(SequencePosition consumed) => request.AdvanceBody(_generation, consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => request.AdvanceBody(_generation, consumed, examined);

    public override void CancelPendingRead() => request.CancelPendingBodyRead(_generation);

    public override void Complete(Exception? exception = null) => request.CompleteBody(_generation, exception);

    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(int minimumSize, CancellationToken cancellationToken)
        => request.ReadBodyAtLeastAsync(_generation, minimumSize, cancellationToken);
}
