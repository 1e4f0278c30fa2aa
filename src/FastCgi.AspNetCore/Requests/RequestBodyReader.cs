using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The application's <c>Request.BodyReader</c>.</summary>
internal sealed class RequestBodyReader(RequestInput input) : PipeReader
{
    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default) => input.ReadAsync(cancellationToken);

    public override bool TryRead(out ReadResult result) => input.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed) => input.AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => input.AdvanceTo(consumed, examined);

    public override void CancelPendingRead() => input.CancelPendingRead();

    public override void Complete(Exception? exception = null) => input.CompleteReader(exception);

    public override Task CopyToAsync(PipeWriter destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(destination);
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled(cancellationToken)
            : input.Stream.CopyToAsync(destination, cancellationToken);
    }

    public override Task CopyToAsync(Stream destination, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(destination);
        return cancellationToken.IsCancellationRequested
            ? Task.FromCanceled(cancellationToken)
            : input.Stream.CopyToAsync(destination, cancellationToken);
    }

    protected override ValueTask<ReadResult> ReadAtLeastAsyncCore(int minimumSize, CancellationToken cancellationToken)
        => input.ReadAtLeastAsync(minimumSize, cancellationToken);
}
