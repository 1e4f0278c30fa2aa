using FastCgi.Client.Connections;

namespace FastCgi.Client.Streams;

/// <summary>Sends what is written to it at once, as records of a request, and checks that it has the promised length.</summary>
internal sealed class RecordStream(RecordSender sender, RecordType type, long? promised) : ForwardStream(canRead: false)
{
    private long _length;

    public bool IsTooLong => _length > promised;

    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        _length += buffer.Length;
        if (IsTooLong)
            CheckEnd();
        while (!buffer.IsEmpty)
        {
            var length = Math.Min(buffer.Length, RecordSender.PieceSize);
            await sender.SendAsync(type, buffer[..length]).ConfigureAwait(false);
            buffer = buffer[length..];
        }
    }

    /// <summary>Fails if there were fewer or more bytes than promised.</summary>
    public void CheckEnd()
    {
        if (promised is not null && promised != _length)
        {
            var why = string.Create(CultureInfo.InvariantCulture, $"Sent {_length:N0} bytes of the request body, but CONTENT_LENGTH is {promised:N0}.");
            throw new FastCgiProtocolException(FastCgiProtocolError.RequestBodyLength, why);
        }
    }
}
