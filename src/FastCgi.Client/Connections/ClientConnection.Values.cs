using System.Buffers;

namespace FastCgi.Client.Connections;

/// <content>Management records: FCGI_GET_VALUES and its result, and the farewell of a server that is shutting down.</content>
internal sealed partial class ClientConnection
{
    private readonly ArrayBufferWriter<byte> _management = new();
    private volatile TaskCompletionSource<IReadOnlyDictionary<string, string>>? _values;

    public async Task<IReadOnlyDictionary<string, string>> GetValuesAsync(IEnumerable<string> names, CancellationToken cancellationToken)
    {
        var values = new TaskCompletionSource<IReadOnlyDictionary<string, string>>(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (_lock)
        {
            // The application may have closed the connection already.
            if (_isClosed)
                throw _malformed ?? Closed(UnsentText);
            _values = values;
        }

        await SendAsync(CreateQuestion(names), exchange: null).AsTask().WaitAsync(cancellationToken).ConfigureAwait(false);
        return await values.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    private static ReadOnlyMemory<byte> CreateQuestion(IEnumerable<string> names)
    {
        var pairs = new ArrayBufferWriter<byte>();
        foreach (var name in names)
            RecordSender.WritePair(pairs, Encoding.UTF8.GetBytes(name), []);
        if (pairs.WrittenCount > ProtocolConstants.MaxAlignedContentLength)
            throw new ArgumentException("The names exceed the 65,528 bytes of a record.", nameof(names));

        var records = new ArrayBufferWriter<byte>();
        RecordSender.WriteRecord(records, RecordType.GetValues, ProtocolConstants.NullRequestId, pairs.WrittenSpan);
        // libfcgi answers a question only when it has read the header of the next record, so an empty question follows.
        RecordSender.WriteRecord(records, RecordType.GetValues, ProtocolConstants.NullRequestId, []);
        return records.WrittenMemory;
    }

    private void TakeManagement(RecordPiece piece)
    {
        // Nothing was requested on this connection. A result with content is not ours to interpret.
        if (_values is null && piece is { Header.Type: RecordType.GetValuesResult, IsEmptyRecord: true })
        {
            TakeFarewell();
            return;
        }

        // The first record is the result; Go adds an empty one.
        if (_values is not { } values || piece.Header.Type is not (RecordType.GetValuesResult or RecordType.UnknownType))
            throw Malformed($"the application sent an unrequested management record of type {(int)piece.Header.Type}");

        if (piece.IsStart)
            _management.ResetWrittenCount();
        _management.Write(piece.Content);
        if (!piece.IsEnd)
            return;

        // UNKNOWN_TYPE means that no values are supported.
        var answers = new Dictionary<string, string>(StringComparer.Ordinal);
        if (piece.Header.Type == RecordType.GetValuesResult)
        {
            var pairs = new NameValuePairReader(_management.WrittenSpan);
            while (pairs.TryRead(out var name, out var value))
                answers[Encoding.UTF8.GetString(name)] = Encoding.UTF8.GetString(value);
            if (pairs.IsMalformed)
                throw Malformed("the result of FCGI_GET_VALUES ends inside a name-value pair");
        }

        values.TrySetResult(answers);
    }

    /// <summary>
    /// FastCgi.AspNetCore announces that it closes the connection (docs/decisions/drain.md, rule 2). It has not executed a request that it has not
    /// answered by now. A response that has begun will be complete.
    /// </summary>
    private void TakeFarewell()
    {
        Exchange? exchange;
        lock (_lock)
        {
            _isClosing = true;
            exchange = _exchange;
        }

        if (exchange is not { HasReceived: true })
            Close(Closed("The application is closing the connection."));
    }
}
