using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The stream FCGI_DATA of one request: the connection puts in what comes, the application reads.</summary>
internal sealed class FilterData(RequestInput input, RequestBody body) : ReceivedStream
{
    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken)
    {
        ObjectDisposedException.ThrowIf(body.IsReaderOver, typeof(IFastCgiFilterFeature));
        var read = body.ReadAsync(cancellationToken);
        if (!read.IsCompleted)
            input.OnExamined();
        return read;
    }

    protected override void Advance(SequencePosition consumed)
    {
        body.AdvanceTo(consumed, consumed);
        input.OnExamined();
    }

    protected override void ThrowIfSynchronousIONotAllowed() => input.ThrowIfSynchronousIONotAllowed();
}
