using System.Buffers;
using Values = System.Collections.Generic.IReadOnlyDictionary<string, string>;

namespace FastCgi.Client.Connections;

/// <content>Management records: FCGI_GET_VALUES, its result, and the farewell of a server that shuts down.</content>
internal sealed partial class ClientConnection
{
    private volatile TaskCompletionSource<Values>? _values;

    public async Task<Values> GetValuesAsync(IEnumerable<string> names, CancellationToken cancellationToken)
    {
        var values = new TaskCompletionSource<Values>(TaskCreationOptions.RunContinuationsAsynchronously);
        lock (_lock)
        {
            // The application may have closed the connection already.
            if (_isClosed)
                throw _malformed ?? Closed(UnsentText);
            _values = values;
        }

        await SendAsync(CreateGetValues(names), exchange: null).AsTask().WaitAsync(cancellationToken)
            .ConfigureAwait(false);
        return await values.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    private static ReadOnlyMemory<byte> CreateGetValues(IEnumerable<string> names)
    {
        var pairs = new ArrayBufferWriter<byte>();
        foreach (var name in names)
            RecordSender.WritePair(pairs, Encoding.UTF8.GetBytes(name), []);
        if (pairs.WrittenCount > ProtocolConstants.MaxAlignedContentLength)
            throw new ArgumentException("The names exceed the 65,528 bytes of a record.", nameof(names));

        var records = new ArrayBufferWriter<byte>();
        RecordSender.WriteRecord(records, RecordType.GetValues, ProtocolConstants.NullRequestId, pairs.WrittenSpan);
        // libfcgi responds only after it has read the header of the next record, so an empty record follows.
        RecordSender.WriteRecord(records, RecordType.GetValues, ProtocolConstants.NullRequestId, []);
        return records.WrittenMemory;
    }

    private void OnManagement(RecordPiece piece)
    {
        if (_values is null && piece is { Header.Type: RecordType.GetValuesResult, IsEmptyRecord: true })
        {
            OnFarewell();
            return;
        }

        // Only the first record counts: Go and libfcgi send an empty result after it.
        if (_values is not { } values
            || piece.Header.Type is not (RecordType.GetValuesResult or RecordType.UnknownType))
            throw Malformed($"the application sent an unrequested management record of type {(int)piece.Header.Type}");
        if (!TryCollect(piece))
            return;

        // UNKNOWN_TYPE means that no values are supported.
        var results = new Dictionary<string, string>(StringComparer.Ordinal);
        if (piece.Header.Type == RecordType.GetValuesResult)
        {
            var pairs = new NameValuePairReader(_content.WrittenSpan);
            while (pairs.TryRead(out var name, out var value))
                results[Encoding.UTF8.GetString(name)] = Encoding.UTF8.GetString(value);
            if (pairs.IsMalformed)
                throw Malformed("the result of FCGI_GET_VALUES ends inside a name-value pair");
        }

        values.TrySetResult(results);
    }

    /// <summary>
    /// The application closes the connection and executes no further request on it. FastCgi.AspNetCore sends this
    /// in a graceful shutdown (docs/decisions/drain.md, rule 2). A response that has begun will be complete.
    /// </summary>
    private void OnFarewell()
    {
        Exchange? exchange;
        lock (_lock)
        {
            _isClosing = true;
            exchange = _exchange;
        }

        if (exchange is { HasReceived: true })
            return;

        exchange?.IsRefused = true;
        Close(Closed("The application is closing the connection."));
    }
}
