namespace FastCgi.AspNetCore.Streams;

/// <content>Management records (FastCGI specification, section 4), which have request id 0.</content>
internal sealed partial class FastCgiConnection
{
    private ProtocolError OnManagementPiece(ConnectionScope scope, in RecordPiece piece)
    {
        if (piece.Header.Type == RecordType.GetValues)
            return OnGetValues(scope, in piece);
        if (piece.Header.Type is <= RecordType.Data and not 0)
            return ProtocolError.ApplicationRecordWithNullRequestId;

        // Responses that were not requested are ignored.
        if (piece.IsEnd && piece.Header.Type is not (RecordType.GetValuesResult or RecordType.UnknownType))
        {
            Span<byte> record = stackalloc byte[RecordWriter.FixedRecordLength];
            RecordWriter.WriteUnknownType(record, piece.Header.Type);
            Output.WriteControl(scope, record);
        }

        return ProtocolError.None;
    }

    /// <summary>Answers each known name once, with the limits in force. Unknown names are omitted.</summary>
    private ProtocolError OnGetValues(ConnectionScope scope, in RecordPiece piece)
    {
        if (!scope.State.PartialContent.TryComplete(in piece, piece.Header.ContentLength, out var content))
            return ProtocolError.None;

        Span<byte> result = stackalloc byte[128];
        var length = ProtocolConstants.HeaderLength;
        var reader = new NameValuePairReader(content);
        while (reader.TryRead(out var name, out _))
        {
            if (GetValue(name) is not { } value || result[..length].IndexOf(name) >= 0)
                continue;

            var text = value.ToString(CultureInfo.InvariantCulture);
            length += NameValuePairWriter.Write(result[length..], name, Encoding.ASCII.GetBytes(text));
        }

        scope.State.PartialContent = default;
        if (reader.IsMalformed)
            return ProtocolError.MalformedGetValues;

        // A web server that queries this is about to multiplex.
        scope.State.IsMultiplexed |= _server.Options.Limits.MaxRequestsPerConnection > 1
            && result[..length].IndexOf(ProtocolConstants.MultiplexesConnectionsName) >= 0;

        RecordWriter.WriteHeader(
            result, RecordType.GetValuesResult, ProtocolConstants.NullRequestId,
                length - ProtocolConstants.HeaderLength);
        Output.WriteControl(scope, result[..length]);
        return ProtocolError.None;
    }

    /// <returns><see langword="null"/> if the name is unknown.</returns>
    private long? GetValue(ReadOnlySpan<byte> name)
    {
        var limits = _server.Options.Limits;
        if (name.SequenceEqual(ProtocolConstants.MaxConnectionsName))
            return Math.Min(limits.MaxConcurrentConnections ?? long.MaxValue, _server.GetMaxConnections());
        if (name.SequenceEqual(ProtocolConstants.MaxRequestsName))
            return Math.Min(limits.MaxConcurrentRequests ?? long.MaxValue, limits.MaxRequestsPerConnection);
        if (name.SequenceEqual(ProtocolConstants.MultiplexesConnectionsName))
            return limits.MaxRequestsPerConnection > 1 ? 1 : 0;

        return null;
    }
}
