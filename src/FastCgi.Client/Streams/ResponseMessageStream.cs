namespace FastCgi.Client.Streams;

/// <summary>The body of a response.</summary>
internal sealed class ResponseMessageStream(Exchange exchange, bool hasBody, long? contentLength)
    : ForwardStream(canRead: true)
{
    private long _received;
    private bool _isEnded;
    private bool _isDisposed;

    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ObjectDisposedException.ThrowIf(_isDisposed, this);
        if (_isEnded || buffer.IsEmpty)
            return 0;

        while (true)
        {
            var result = await exchange.Output.ReadAsync(cancellationToken).ConfigureAwait(false);
            if (exchange.Failure is { } failure)
                throw failure;

            if (!hasBody)
            {
                exchange.Output.AdvanceTo(result.Buffer.End);
            }
            else if (!result.Buffer.IsEmpty)
            {
                var length = (int)Math.Min(buffer.Length, result.Buffer.Length);
                var taken = result.Buffer.Slice(0, length);
                taken.CopyTo(buffer.Span);
                exchange.Output.AdvanceTo(taken.End);
                _received += length;
                if (contentLength is { } expected && _received > expected)
                    throw Fail(FastCgiProtocolError.BodyTooLong,
                        $"The body exceeds its Content-Length of {expected} bytes.");
                return length;
            }

            if (result.IsCompleted)
            {
                if (exchange.Cut is { } cut)
                    throw cut;
                _isEnded = true;
                return !hasBody || contentLength is null || _received == contentLength
                    ? 0
                    : throw Fail(FastCgiProtocolError.BodyTooShort,
                        $"The body has {_received} bytes, but its Content-Length is {contentLength}.");
            }
        }
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing && !_isDisposed)
        {
            _isDisposed = true;
            exchange.Abort(new ObjectDisposedException(nameof(FastCgiResponseMessage)));
            exchange.Output.Complete();
        }

        base.Dispose(disposing);
    }

    private FastCgiProtocolException Fail(FastCgiProtocolError error, string message)
    {
        var exception = new FastCgiProtocolException(error, message);
        exchange.Abort(exception);
        return exception;
    }
}
