using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The stream FCGI_DATA of one request: the connection puts in what comes, the application reads.</summary>
internal sealed class FilterData : ReceivedStream
{
    private readonly FastCgiRequest _request;
    private readonly RequestBody _body;

    private FilterData(FastCgiRequest request, RequestBody body)
    {
        _request = request;
        _body = body;
    }

    /// <summary>Begins the stream of a request.</summary>
    /// <param name="request">The request.</param>
    /// <param name="pool">Where buffers come from.</param>
    /// <param name="length">FCGI_DATA_LENGTH, if it is known.</param>
    public static FilterData Begin(FastCgiRequest request, BufferPool pool, long? length)
    {
        var body = new RequestBody(pool);
        body.Begin(length);
        return new FilterData(request, body);
    }

    /// <summary>Whether nothing more will come.</summary>
    public bool IsInputOver => _body.IsInputOver;

    /// <summary>The bytes that wait to be read, while there are more to come. Under the lock of the connection.</summary>
    public long UnreadLength => _body.UnreadLength;

    /// <summary>Takes content of DATA. Under the lock of the connection.</summary>
    public void Append(ReadOnlySpan<byte> content) => _body.Append(content);

    /// <summary>DATA has ended. Under the lock of the connection.</summary>
    public void EndInput() => _body.EndInput();

    /// <summary>The rest will not come: reads fail. Under the lock of the connection.</summary>
    public void Fail(Exception exception) => _body.Fail(exception);

    /// <summary>The request is over: reads fail, and what was not read is given back.</summary>
    public void End()
    {
        _body.Fail(new ObjectDisposedException(nameof(IFastCgiFilterFeature)));
        _body.CompleteReader();
    }

    protected override ValueTask<ReadResult> ReadResultAsync(CancellationToken cancellationToken)
    {
        var read = _body.ReadAsync(cancellationToken);
        if (!read.IsCompleted)
            _request.Connection.OnBodyConsumed();
        return read;
    }

    protected override void Advance(SequencePosition consumed)
    {
        _body.AdvanceTo(consumed, consumed);
        _request.Connection.OnBodyConsumed();
    }

    protected override void ThrowIfSynchronousIONotAllowed() => _request.ThrowIfSynchronousIONotAllowed();
}
