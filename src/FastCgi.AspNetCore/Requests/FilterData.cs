using System.IO.Pipelines;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The stream FCGI_DATA of one request: the connection puts in what comes, the application reads.</summary>
internal sealed class FilterData(RequestInput input, RequestBody body) : ReceivedStream
{
    /// <summary>Makes the stream of a request.</summary>
    public static FilterData Open(RequestInput input, RequestBody body) => new(input, body);

    /// <summary>Whether nothing more will come.</summary>
    public bool IsInputOver => body.IsInputOver;

    /// <summary>The bytes that wait to be read, while there are more to come. With the lock of the connection held.</summary>
    public long UnreadLength => body.UnreadLength;

    /// <summary>Takes content of DATA. With the lock of the connection held.</summary>
    public void Append(ReadOnlySpan<byte> content) => body.Append(content);

    /// <summary>DATA has ended. With the lock of the connection held.</summary>
    public void EndInput() => body.EndInput();

    /// <summary>The rest will not come: reads fail. With the lock of the connection held.</summary>
    public void Fail(Exception exception) => body.Fail(exception);

    /// <summary>The request is over: reads fail, and the memory of what was not read goes back to the pool.</summary>
    public void End()
    {
        body.Fail(new ObjectDisposedException(nameof(IFastCgiFilterFeature)));
        body.CompleteReader();
    }

    protected override RequestBody? Hold()
    {
        ObjectDisposedException.ThrowIf(!body.TryHold(), typeof(IFastCgiFilterFeature));
        return body;
    }

    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken)
    {
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
