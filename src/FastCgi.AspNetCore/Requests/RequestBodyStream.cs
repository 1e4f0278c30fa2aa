using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>What the application has as <c>Request.Body</c>: another view of what <see cref="RequestBodyReader"/> reads.</summary>
internal sealed class RequestBodyStream(RequestInput input, int generation) : ReceivedStream
{
    private int _generation = generation;

    /// <inheritdoc/>
    public override int Generation => _generation;

    /// <summary>Makes a stream that request after request uses.</summary>
    public static RequestBodyStream Open(RequestInput input, int generation) => new(input, generation);

    /// <summary>Gives the stream out for another request.</summary>
    public void Begin(int generation) => _generation = generation;

    protected override ValueTask<ReadResult> ReadResultAsync(int generation, CancellationToken cancellationToken)
        => input.ReadAsync(generation, cancellationToken);

    protected override void Advance(int generation, SequencePosition consumed) => input.AdvanceTo(generation, consumed, consumed);

    protected override void ThrowIfSynchronousIONotAllowed() => input.ThrowIfSynchronousIONotAllowed();
}
