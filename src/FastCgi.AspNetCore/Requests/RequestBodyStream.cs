using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the application has as <c>Request.Body</c>: another view of what <see cref="RequestBodyReader"/> reads.</summary>
internal sealed class RequestBodyStream(RequestInput input) : ReceivedStream
{
    /// <summary>Copies the rest of the body, until the destination is completed.</summary>
    public Task CopyToAsync(PipeWriter destination, CancellationToken cancellationToken) => CopyAsync(
        async segment =>
        {
            var flush = await destination.WriteAsync(segment, cancellationToken).ConfigureAwait(false);
            return flush.IsCanceled ? throw new OperationCanceledException("The flush was canceled") : !flush.IsCompleted;
        },
        cancellationToken);

    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken) => input.ReadAsync(cancellationToken);

    protected override void Advance(SequencePosition consumed) => input.AdvanceTo(consumed, consumed);

    protected override void ThrowIfSynchronousIONotAllowed() => input.ThrowIfSynchronousIONotAllowed();
}
