using System.Buffers.Binary;
using Values = System.Collections.Generic.IReadOnlyDictionary<string, string>;

namespace FastCgi.Client.Connections;

/// <content>Receives records: those of a response, and management records.</content>
internal sealed partial class ClientConnection
{
    private const int ReceiveBufferSize = 32 * 1024;

    // The content of a record that is read as a whole.
    private readonly ArrayBufferWriter<byte> _content = new();
    private RecordReader _reader;
    private volatile TaskCompletionSource<Values>? _values;

    // Set while received bytes are dispatched: the exchange that got output, and the exchange that has ended.
    private Exchange? _written;
    private Exchange? _ended;

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

    private async Task ReceiveAsync()
    {
        try
        {
            while (true)
            {
                // An idle connection holds no buffer.
                await socket.ReceiveAsync(Memory<byte>.Empty, default).ConfigureAwait(false);
                var buffer = ArrayPool<byte>.Shared.Rent(ReceiveBufferSize);
                try
                {
                    var received = await socket.ReceiveAsync(buffer.AsMemory(), default).ConfigureAwait(false);
                    if (received == 0)
                    {
                        options.Trace?.OnEvent(number, isSent: false, "end");
                        Close(Closed("The application closed the connection before the end of the response."));
                        return;
                    }

                    options.Trace?.OnBytes(number, isSent: false, buffer.AsSpan(0, received));
                    Dispatch(buffer.AsSpan(0, received));
                }
                finally
                {
                    ArrayPool<byte>.Shared.Return(buffer);
                }

                // Not earlier, so that stray bytes after a response are not mistaken for the next one.
                if (_ended is not null)
                    _ = ReleaseAsync(_ended);
                // Applies backpressure: while the buffer of a response is full, nothing is received.
                if (_written is not null)
                    await _written.FlushAsync().ConfigureAwait(false);
                (_ended, _written) = (null, null);
            }
        }
        catch (FastCgiProtocolException exception)
        {
            Close(exception);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            if (exception is SocketException)
                options.Trace?.OnEvent(number, isSent: false, "reset");
            Close(Closed($"The connection was lost before the end of the response: {exception.Message}", exception));
        }
    }

    private void Dispatch(ReadOnlySpan<byte> bytes)
    {
        while (_reader.Read(ref bytes, out var piece) is var result and not RecordReadResult.NeedMore)
        {
            if (result == RecordReadResult.UnsupportedVersion && ProtocolConstants.CutMark.StartsWith(bytes))
                throw Closed("The application ended the response before it was complete.");
            if (result == RecordReadResult.UnsupportedVersion)
                throw Malformed(
                    $"a record begins with '{HeaderBlock.Show(bytes)}' instead of version 1, so it is not FastCGI");
            if (piece.IsStart)
                options.Trace?.OnRecord(number, isSent: false, piece.Header, piece.Content);
            if (piece.Header.RequestId == ProtocolConstants.NullRequestId)
                OnManagement(piece);
            else
                OnRequestRecord(piece);
        }
    }

    private void OnRequestRecord(RecordPiece piece)
    {
        Exchange? exchange;
        lock (_lock)
            exchange = piece.Header.RequestId == RecordSender.RequestId ? _exchange : null;
        if (exchange is null)
            throw Malformed(
                $"the application sent a record for the request {piece.Header.RequestId}, which is not active");

        switch (piece.Header.Type)
        {
            case RecordType.Stdout:
                exchange.OnStdout(piece.Content, piece.IsEmptyRecord);
                _written = exchange;
                break;
            case RecordType.Stderr:
                exchange.OnStandardError(piece.Content);
                break;
            case RecordType.EndRequest:
                OnEndRequest(exchange, piece);
                break;
            default:
                throw Malformed($"the application sent a record of type {(int)piece.Header.Type}");
        }
    }

    private void OnEndRequest(Exchange exchange, RecordPiece piece)
    {
        if (piece.Header.ContentLength != ProtocolConstants.FixedBodyLength)
            throw Malformed($"END_REQUEST has {piece.Header.ContentLength} bytes of content where 8 are expected");
        if (!TryCollect(piece))
            return;

        // Not every application skips the rest of a body, so the connection is then not reused.
        var isKept = Persists && exchange.Sender.IsEndSent;
        lock (_lock)
            _exchange = null;
        var body = _content.WrittenSpan;
        _ = exchange.EndAsync(BinaryPrimitives.ReadInt32BigEndian(body), (FastCgiProtocolStatus)body[4]);
        _ended = exchange;
        if (!isKept)
            Dispose();
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
            OnCloseNotice();
            return;
        }

        // Only the first record is used: Go and libfcgi send an empty result after it.
        if (_values is not { } values
            || piece.Header.Type is not (RecordType.GetValuesResult or RecordType.UnknownType))
            throw Malformed($"the application sent an unrequested management record of type {(int)piece.Header.Type}");
        if (!TryCollect(piece))
            return;

        // UNKNOWN_TYPE means that no values are supported.
        var results = ReadPairs(piece.Header.Type == RecordType.GetValuesResult ? _content.WrittenSpan : []);
        values.TrySetResult(results ?? throw Malformed("the result of FCGI_GET_VALUES ends inside a name-value pair"));
    }

    /// <returns><see langword="null"/> if the pairs are malformed.</returns>
    public static Dictionary<string, string>? ReadPairs(ReadOnlySpan<byte> content)
    {
        var values = new Dictionary<string, string>(StringComparer.Ordinal);
        var pairs = new NameValuePairReader(content);
        while (pairs.TryRead(out var name, out var value))
            values[Encoding.UTF8.GetString(name)] = Encoding.UTF8.GetString(value);
        return pairs.IsMalformed ? null : values;
    }

    /// <summary>
    /// Called if the application closes the connection and executes no further requests. FastCgi.AspNetCore sends this
    /// in a graceful shutdown (docs/decisions/drain.md, rule 2). A response that has started will be complete.
    /// </summary>
    private void OnCloseNotice()
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

    /// <summary>Collects the content of a record, and returns whether it is complete.</summary>
    private bool TryCollect(RecordPiece piece)
    {
        if (piece.IsStart)
            _content.ResetWrittenCount();
        _content.Write(piece.Content);
        return piece.IsEnd;
    }

    private FastCgiProtocolException Malformed(string why)
        => new(FastCgiProtocolError.MalformedRecord, $"The response is malformed: {why}.") { Address = Address };
}
