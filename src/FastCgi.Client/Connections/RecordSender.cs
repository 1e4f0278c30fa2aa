namespace FastCgi.Client.Connections;

/// <summary>Sends one request. As a stream, it sends written bytes as the body, and verifies the length.</summary>
internal sealed class RecordSender(ClientConnection connection, Exchange exchange) : ForwardStream(canRead: false)
{
    /// <summary>The id of each request: a connection carries one at a time.</summary>
    public const ushort RequestId = 1;

    private const int MaxBodyContentLength = 32 * 1024;

    // Records start at multiples of eight bytes, as the specification recommends (section 3.3) and nginx and Caddy do.
    private const int Alignment = 8;

    private readonly long? _declaredLength = exchange.Request.DeclaredLength;
    private readonly ArrayBufferWriter<byte> _records = new(1024);
    private long _length;
    private volatile bool _isEndSent;

    /// <summary>Whether the end of the request has been passed to the connection.</summary>
    public bool IsEndSent => _isEndSent;

    /// <summary>Whether the body can still turn out to be shorter or longer than declared.</summary>
    public bool IsLengthUnverified => !_isEndSent && _declaredLength is not null;

    private bool IsTooLong => _length > _declaredLength;

    public async Task SendAsync(bool keepsConnection)
    {
        WriteHead(keepsConnection);
        if (exchange.Request.BodySource is { } body)
        {
            await SendRecordsAsync().ConfigureAwait(false);
            try
            {
                await body.WriteToAsync(this, exchange.SendingToken).ConfigureAwait(false);
            }
            catch (Exception) when (IsTooLong)
            {
                // HttpContent wraps the exception of the stream.
            }
        }

        VerifyLength();
        // Web servers send an empty STDIN to authorizers too.
        WriteRecord(_records, RecordType.Stdin, RequestId, []);
        _isEndSent = true;
        await SendRecordsAsync().ConfigureAwait(false);
    }

    public override async ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        _length += buffer.Length;
        if (IsTooLong)
            VerifyLength();
        while (!buffer.IsEmpty)
        {
            exchange.SendingToken.ThrowIfCancellationRequested();
            var content = buffer[..Math.Min(buffer.Length, MaxBodyContentLength)];
            WriteRecord(_records, RecordType.Stdin, RequestId, content.Span);
            await SendRecordsAsync().ConfigureAwait(false);
            buffer = buffer[content.Length..];
        }
    }

    public static void WritePair(ArrayBufferWriter<byte> buffer, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        var length = NameValuePairWriter.GetLength(name.Length, value.Length);
        NameValuePairWriter.Write(buffer.GetSpan(length), name, value);
        buffer.Advance(length);
    }

    public static void WriteRecord(
        ArrayBufferWriter<byte> buffer, RecordType type, ushort id, ReadOnlySpan<byte> content)
    {
        var padding = -content.Length & (Alignment - 1);
        var end = ProtocolConstants.HeaderLength + content.Length;
        var span = buffer.GetSpan(end + padding);
        RecordWriter.WriteHeader(span, type, id, content.Length, padding);
        content.CopyTo(span[ProtocolConstants.HeaderLength..]);
        span.Slice(end, padding).Clear();
        buffer.Advance(end + padding);
    }

    private async ValueTask SendRecordsAsync()
    {
        await connection.SendAsync(_records.WrittenMemory, exchange).ConfigureAwait(false);
        _records.ResetWrittenCount();
    }

    private void WriteHead(bool keepsConnection)
    {
        var role = (int)exchange.Request.Role;
        var flags = keepsConnection ? ProtocolConstants.KeepConnectionFlag : (byte)0;
        WriteRecord(
            _records, RecordType.BeginRequest, RequestId, [(byte)(role >> 8), (byte)role, flags, 0, 0, 0, 0, 0]);

        var pairs = new ArrayBufferWriter<byte>(1024);
        foreach (var parameter in exchange.Request.Parameters)
        {
            var name = parameter.NameBytes.Span;
            var value = parameter.ValueBytes.Span;
            var length = NameValuePairWriter.GetLength(name.Length, value.Length);
            // Keeps a pair in one record where possible: some applications cannot read a split pair.
            if (pairs.WrittenCount > 0 && pairs.WrittenCount + length > ProtocolConstants.MaxAlignedContentLength)
                WriteParams(pairs);
            WritePair(pairs, name, value);
        }

        WriteParams(pairs);
        WriteRecord(_records, RecordType.Params, RequestId, []);
    }

    private void WriteParams(ArrayBufferWriter<byte> pairs)
    {
        for (var rest = pairs.WrittenSpan; !rest.IsEmpty;)
        {
            var length = Math.Min(rest.Length, ProtocolConstants.MaxAlignedContentLength);
            WriteRecord(_records, RecordType.Params, RequestId, rest[..length]);
            rest = rest[length..];
        }

        pairs.ResetWrittenCount();
    }

    private void VerifyLength()
    {
        if (_declaredLength is not { } declared || declared == _length)
            return;

        throw new FastCgiProtocolException(FastCgiProtocolError.RequestBodyLength, FormattableString.Invariant(
            $"Sent {_length:N0} bytes of the request body, but CONTENT_LENGTH is {declared:N0}."));
    }
}
