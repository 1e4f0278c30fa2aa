using System.Buffers;
using FastCgi.Client.Streams;

namespace FastCgi.Client.Connections;

/// <summary>Makes the records of one request and sends them.</summary>
internal sealed class RecordSender(ClientConnection connection, Exchange exchange)
{
    /// <summary>The id of each request: a connection carries one at a time.</summary>
    public const ushort RequestId = 1;

    /// <summary>The maximum content of a record of a body.</summary>
    public const int PieceSize = 32 * 1024;

    // Records begin at multiples of eight bytes, as the specification recommends (section 3.3) and nginx and Caddy do.
    private const int Alignment = 8;

    private int _isEndSent;

    /// <summary>Whether the record that ends the request's input has been given to the connection.</summary>
    public bool IsEndSent => Volatile.Read(ref _isEndSent) != 0;

    /// <summary>Sends the whole request. It ends early, and without an exception, when the answer has ended.</summary>
    public async Task SendAsync(bool keepsConnection)
    {
        var token = exchange.SendingToken;
        var request = exchange.Request;
        var buffer = new ArrayBufferWriter<byte>(1024);
        WriteHead(buffer, keepsConnection);
        var stdin = new RecordStream(this, RecordType.Stdin, request.DeclaredLength);
        if (request.BodySource is null)
            stdin.CheckEnd();
        if (request.BodySource is null && request.DataSource is null)
        {
            EndInput(buffer);
            await connection.SendAsync(buffer.WrittenMemory, exchange).ConfigureAwait(false);
            return;
        }

        await connection.SendAsync(buffer.WrittenMemory, exchange).ConfigureAwait(false);
        if (request.BodySource is { } body)
        {
            try
            {
                await body.WriteToAsync(stdin, token).ConfigureAwait(false);
            }
            catch (Exception) when (stdin.IsTooLong)
            {
                // HttpContent wraps the exception of the stream.
            }

            stdin.CheckEnd();
        }

        if (request.DataSource is { } data)
        {
            await SendAsync(RecordType.Stdin, default).ConfigureAwait(false);
            await data.WriteToAsync(new RecordStream(this, RecordType.Data, promised: null), token).ConfigureAwait(false);
        }

        buffer.ResetWrittenCount();
        EndInput(buffer);
        await connection.SendAsync(buffer.WrittenMemory, exchange).ConfigureAwait(false);
    }

    public async ValueTask SendAsync(RecordType type, ReadOnlyMemory<byte> content)
    {
        exchange.SendingToken.ThrowIfCancellationRequested();
        var record = ArrayPool<byte>.Shared.Rent(ProtocolConstants.HeaderLength + content.Length + Alignment);
        try
        {
            var length = WriteRecord(record, type, RequestId, content.Span);
            await connection.SendAsync(record.AsMemory(0, length), exchange).ConfigureAwait(false);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(record);
        }
    }

    public static void WritePair(ArrayBufferWriter<byte> buffer, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        var length = NameValuePairWriter.GetLength(name.Length, value.Length);
        NameValuePairWriter.Write(buffer.GetSpan(length), name, value);
        buffer.Advance(length);
    }

    public static void WriteRecord(ArrayBufferWriter<byte> buffer, RecordType type, ushort id, ReadOnlySpan<byte> content)
        => buffer.Advance(WriteRecord(buffer.GetSpan(ProtocolConstants.HeaderLength + content.Length + Alignment), type, id, content));

    private static int WriteRecord(Span<byte> span, RecordType type, ushort id, ReadOnlySpan<byte> content)
    {
        var padding = -content.Length & (Alignment - 1);
        var end = ProtocolConstants.HeaderLength + content.Length;
        RecordWriter.WriteHeader(span, type, id, content.Length, padding);
        content.CopyTo(span[ProtocolConstants.HeaderLength..]);
        span.Slice(end, padding).Clear();
        return end + padding;
    }

    private void WriteHead(ArrayBufferWriter<byte> buffer, bool keepsConnection)
    {
        var role = (int)exchange.Request.Role;
        var flags = keepsConnection ? ProtocolConstants.KeepConnectionFlag : (byte)0;
        WriteRecord(buffer, RecordType.BeginRequest, [(byte)(role >> 8), (byte)role, flags, 0, 0, 0, 0, 0]);

        var pairs = new ArrayBufferWriter<byte>(1024);
        foreach (var parameter in exchange.Request.Parameters)
        {
            var name = parameter.NameBytes.Span;
            var value = parameter.ValueBytes.Span;
            var length = NameValuePairWriter.GetLength(name.Length, value.Length);
            // A pair stands in one record if it can: not every application finds one that is cut.
            if (pairs.WrittenCount > 0 && pairs.WrittenCount + length > ProtocolConstants.MaxAlignedContentLength)
                WriteParams(buffer, pairs);

            WritePair(pairs, name, value);
        }

        WriteParams(buffer, pairs);
        WriteRecord(buffer, RecordType.Params, []);
    }

    private static void WriteParams(ArrayBufferWriter<byte> buffer, ArrayBufferWriter<byte> pairs)
    {
        for (var rest = pairs.WrittenSpan; !rest.IsEmpty;)
        {
            var length = Math.Min(rest.Length, ProtocolConstants.MaxAlignedContentLength);
            WriteRecord(buffer, RecordType.Params, rest[..length]);
            rest = rest[length..];
        }

        pairs.ResetWrittenCount();
    }

    /// <summary>The last record: of DATA for a filter, otherwise of STDIN. Web servers send an empty STDIN to authorizers too.</summary>
    private void EndInput(ArrayBufferWriter<byte> buffer)
    {
        if (exchange.Request.Role == FastCgiRequestRole.Filter && exchange.Request.DataSource is null)
            WriteRecord(buffer, RecordType.Stdin, []);
        WriteRecord(buffer, exchange.Request.Role == FastCgiRequestRole.Filter ? RecordType.Data : RecordType.Stdin, []);
        Volatile.Write(ref _isEndSent, 1);
    }

    private static void WriteRecord(ArrayBufferWriter<byte> buffer, RecordType type, ReadOnlySpan<byte> content) => WriteRecord(buffer, type, RequestId, content);
}
