using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The FCGI_DATA stream of one request.</summary>
internal sealed class FilterData(RequestInput input) : ReceivedStream
{
    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken) => input.ReadDataAsync(cancellationToken);

    protected override void Advance(SequencePosition consumed) => input.AdvanceData(consumed);

    protected override void ThrowIfSynchronousIONotAllowed() => input.ThrowIfSynchronousIONotAllowed();
}
