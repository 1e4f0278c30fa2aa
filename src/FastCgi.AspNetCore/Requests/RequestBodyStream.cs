using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the application has as <c>Request.Body</c>: another view of what <see cref="RequestBodyReader"/> reads.</summary>
internal sealed class RequestBodyStream(RequestInput input, int generation) : ReceivedStream
{
    /// <summary>The request that it was given out for.</summary>
    public int Generation => generation;

    /// <summary>Makes the stream of a request.</summary>
    public static RequestBodyStream Open(RequestInput input, int generation) => new(input, generation);

    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken)
        => input.ReadAsync(generation, cancellationToken);

    protected override void Advance(SequencePosition consumed) => input.AdvanceTo(generation, consumed, consumed);

    protected override void ThrowIfSynchronousIONotAllowed() => input.ThrowIfSynchronousIONotAllowed();
}
