using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the application has as <c>Request.Body</c>: another view of what <see cref="RequestBodyReader"/> reads.</summary>
internal sealed class RequestBodyStream(FastCgiRequest request, int generation) : ReceivedStream
{
    private int _generation = generation;

    /// <summary>Gives the stream out for another request.</summary>
    public void Begin(int generation) => _generation = generation;

    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken)
        => request.ReadBodyAsync(_generation, cancellationToken);

    protected override void Advance(SequencePosition consumed) => request.AdvanceBody(_generation, consumed, consumed);

    protected override void ThrowIfSynchronousIONotAllowed() => request.ThrowIfSynchronousIONotAllowed();
}
