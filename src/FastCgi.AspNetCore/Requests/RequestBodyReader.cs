using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// What the application has as <c>Request.BodyReader</c>: the request and the generation it was given out for, so that one that is
/// kept beyond its request never touches the next.
/// </summary>
internal sealed class RequestBodyReader(RequestInput input, int generation) : PipeReader
{
    private int _generation = generation;
    private bool _isOfOneRequest;

    /// <summary>The request that it was given out for.</summary>
    public int Generation => _generation;

    /// <summary>Gives the reader out for another request.</summary>
    public void Begin(int generation) => _generation = generation;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
        => input.ReadAsync(_generation, cancellationToken);

    public override bool TryRead(out ReadResult result) => input.TryRead(_generation, out result);

    public override void AdvanceTo(SequencePosition consumed) => input.AdvanceTo(_generation, consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => input.AdvanceTo(_generation, consumed, examined);

    public override void CancelPendingRead() => input.CancelPendingRead(_generation);

    public override void Complete(Exception? exception = null) => input.CompleteReader(_generation, exception);

    // A destination may take so long that the request is over, and this reader is another one's: a copy goes by a reader of its own.
    public override Task CopyToAsync(Stream destination, CancellationToken cancellationToken = default)
        => _isOfOneRequest ? base.CopyToAsync(destination, cancellationToken) : ForThisRequest().CopyToAsync(destination, cancellationToken);

    public override Task CopyToAsync(PipeWriter destination, CancellationToken cancellationToken = default)
        => _isOfOneRequest ? base.CopyToAsync(destination, cancellationToken) : ForThisRequest().CopyToAsync(destination, cancellationToken);

    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(int minimumSize, CancellationToken cancellationToken)
        => input.ReadAtLeastAsync(_generation, minimumSize, cancellationToken);

    private RequestBodyReader ForThisRequest() => new(input, _generation) { _isOfOneRequest = true };
}
