using System.Buffers.Text;

namespace FastCgi.AspNetCore.Streams;

/// <content>Management records (FastCGI specification, section 4), which have request id 0.</content>
internal sealed partial class FastCgiConnection
{
    // Bits of the names that were answered.
    private const int MaxConnections = 1;
    private const int MaxRequests = 2;
    private const int Multiplexes = 4;

    private bool CanMultiplex => _server.Options.Limits.MaxRequestsPerConnection > 1;

    private ProtocolError OnManagementPiece(ConnectionScope scope, in RecordPiece piece)
    {
        switch (piece.Header.Type)
        {
            case RecordType.GetValues:
                return OnGetValues(scope, in piece);

            // Responses that were not requested.
            case RecordType.GetValuesResult:
            case RecordType.UnknownType:
                return ProtocolError.None;

            case <= RecordType.Data and not 0:
                return ProtocolError.ApplicationRecordWithNullRequestId;
        }

        if (piece.IsEnd)
            RecordWriter.WriteUnknownType(
                Output.WriteControl(scope, RecordWriter.FixedRecordLength), piece.Header.Type);
        return ProtocolError.None;
    }

    /// <summary>Answers each known name once, with the limits in force. Unknown names are omitted.</summary>
    private ProtocolError OnGetValues(ConnectionScope scope, in RecordPiece piece)
    {
        if (!scope.State.PartialContent.TryComplete(in piece, piece.Header.ContentLength, out var content))
            return ProtocolError.None;

        Span<byte> result = stackalloc byte[128];
        var length = ProtocolConstants.HeaderLength;
        var answered = 0;
        var reader = new NameValuePairReader(content);
        while (reader.TryRead(out var name, out _))
        {
            var value = GetValue(name, out var bit);
            if (value < 0 || (answered & bit) != 0)
                continue;

            answered |= bit;
            length += WriteValue(result[length..], name, value);
        }

        scope.State.PartialContent.Return();
        if (reader.IsMalformed)
            return ProtocolError.MalformedGetValues;

        // A web server that asks is about to multiplex.
        scope.State.IsMultiplexed |= (answered & Multiplexes) != 0 && CanMultiplex;

        RecordWriter.WriteHeader(
            result, RecordType.GetValuesResult, ProtocolConstants.NullRequestId,
                length - ProtocolConstants.HeaderLength);
        result[..length].CopyTo(Output.WriteControl(scope, length));
        return ProtocolError.None;
    }

    /// <returns>The value of a name, or -1 if it is unknown.</returns>
    private long GetValue(ReadOnlySpan<byte> name, out int bit)
    {
        var limits = _server.Options.Limits;
        if (name.SequenceEqual(ProtocolConstants.MaxConnectionsName))
        {
            bit = MaxConnections;
            return Math.Min(limits.MaxConcurrentConnections ?? long.MaxValue, _server.GetMaxConnections());
        }

        if (name.SequenceEqual(ProtocolConstants.MaxRequestsName))
        {
            bit = MaxRequests;
            return Math.Min(limits.MaxRequestsPerConnection, limits.MaxConcurrentRequests ?? long.MaxValue);
        }

        bit = Multiplexes;
        if (!name.SequenceEqual(ProtocolConstants.MultiplexesConnectionsName))
            return -1;

        return CanMultiplex ? 1 : 0;
    }

    private static int WriteValue(Span<byte> destination, ReadOnlySpan<byte> name, long value)
    {
        Span<byte> text = stackalloc byte[20];
        Utf8Formatter.TryFormat(value, text, out var length);
        return NameValuePairWriter.Write(destination, name, text[..length]);
    }
}
