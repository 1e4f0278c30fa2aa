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
            var (value, bit) = GetValue(name);
            if (bit == 0 || (answered & bit) != 0)
                continue;

            answered |= bit;
            var text = value.ToString(CultureInfo.InvariantCulture);
            length += NameValuePairWriter.Write(result[length..], name, Encoding.ASCII.GetBytes(text));
        }

        scope.State.PartialContent = default;
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

    /// <returns>The value of a name and its bit, which is 0 if the name is unknown.</returns>
    private (long Value, int Bit) GetValue(ReadOnlySpan<byte> name)
    {
        var limits = _server.Options.Limits;
        if (name.SequenceEqual(ProtocolConstants.MaxConnectionsName))
        {
            var limit = limits.MaxConcurrentConnections ?? long.MaxValue;
            return (Math.Min(limit, _server.GetMaxConnections()), MaxConnections);
        }

        if (name.SequenceEqual(ProtocolConstants.MaxRequestsName))
        {
            var limit = limits.MaxConcurrentRequests ?? long.MaxValue;
            return (Math.Min(limits.MaxRequestsPerConnection, limit), MaxRequests);
        }

        return name.SequenceEqual(ProtocolConstants.MultiplexesConnectionsName)
            ? (CanMultiplex ? 1 : 0, Multiplexes)
            : default;
    }
}
