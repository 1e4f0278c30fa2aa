using System.Buffers;
using System.Buffers.Binary;
using FastCgi.Client.Cgi;

namespace FastCgi.Client.Connections;

/// <content>Receives and dispatches records.</content>
internal sealed partial class ClientConnection
{
    private const int ReceiveBufferSize = 32 * 1024;

    private readonly byte[] _fixedBody = new byte[ProtocolConstants.FixedBodyLength];
    private RecordReader _reader;
    private int _fixedBodyLength;

    // The exchanges whose output has been received, and whose end has been received, in the current receive.
    private Exchange? _written;
    private Exchange? _ended;

    private async Task ReceiveAsync()
    {
        try
        {
            while (true)
            {
                // An idle connection holds no buffer.
                await _socket.ReceiveAsync(Memory<byte>.Empty, SocketFlags.None).ConfigureAwait(false);
                var buffer = ArrayPool<byte>.Shared.Rent(ReceiveBufferSize);
                try
                {
                    var received = await _socket.ReceiveAsync(buffer.AsMemory(), SocketFlags.None).ConfigureAwait(false);
                    if (received == 0)
                    {
                        _options.Trace?.OnEvent(_number, isSent: false, "end");
                        Close(Closed("The application closed the connection before the end of the response."));
                        return;
                    }

                    _options.Trace?.OnBytes(_number, isSent: false, buffer.AsSpan(0, received));
                    Take(buffer.AsSpan(0, received));
                    FinishEnded();
                }
                finally
                {
                    ArrayPool<byte>.Shared.Return(buffer);
                }

                await FlushAsync().ConfigureAwait(false);
            }
        }
        catch (FastCgiProtocolException exception)
        {
            Close(exception);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            if (exception is SocketException)
                _options.Trace?.OnEvent(_number, isSent: false, "reset");
            Close(Closed($"The connection was lost before the end of the response: {exception.Message}", exception));
        }
    }

    /// <summary>Releases the connection only now, so that stray bytes after a response cannot be taken for the next one.</summary>
    private void FinishEnded()
    {
        if (_ended is { } exchange)
            Finish(exchange);
        _ended = null;
    }

    /// <summary>Applies backpressure: while the buffer of a response is full, nothing is received.</summary>
    private async ValueTask FlushAsync()
    {
        if (_written is { } exchange)
            await exchange.FlushAsync().ConfigureAwait(false);
        _written = null;
    }

    private void Take(ReadOnlySpan<byte> bytes)
    {
        while (_reader.Read(ref bytes, out var piece) is var result and not RecordReadResult.NeedMore)
        {
            if (result == RecordReadResult.UnsupportedVersion)
                throw Malformed($"a record begins with '{HeaderBlock.Show(bytes)}' instead of version 1, so it is not FastCGI");
            if (piece.IsStart)
                _options.Trace?.OnRecord(_number, isSent: false, piece.Header, piece.Content);
            if (piece.Header.RequestId == ProtocolConstants.NullRequestId)
                TakeManagement(piece);
            else
                Take(piece);
        }
    }

    private void Take(RecordPiece piece)
    {
        var exchange = Find(piece.Header.RequestId);
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
                TakeEndRequest(exchange, piece);
                break;
            default:
                throw Malformed($"the application sent a record of type {(int)piece.Header.Type}");
        }
    }

    private Exchange Find(ushort id)
    {
        lock (_lock)
        {
            if (id == RecordSender.RequestId && _exchange is { } exchange)
                return exchange;
        }

        throw Malformed($"the application sent a record for the request {id}, which is not active");
    }

    private void TakeEndRequest(Exchange exchange, RecordPiece piece)
    {
        if (!TakeFixedBody(piece))
            return;

        // Not every application skips the rest of a body.
        var isKept = Persists && exchange.Sender.IsEndSent;
        lock (_lock)
        {
            if (_exchange == exchange)
                _exchange = null;
            _isClosing |= !isKept;
        }

        _ = exchange.EndAsync(BinaryPrimitives.ReadInt32BigEndian(_fixedBody), (FastCgiProtocolStatus)_fixedBody[4]);
        _ended = exchange;
        if (!isKept)
            Dispose();
    }

    /// <summary>Collects eight bytes, which may come in pieces, and returns whether they are complete.</summary>
    private bool TakeFixedBody(RecordPiece piece)
    {
        if (piece.Header.ContentLength != ProtocolConstants.FixedBodyLength)
            throw Malformed($"a record of type {(int)piece.Header.Type} has {piece.Header.ContentLength} bytes of content where 8 are expected");

        if (piece.IsStart)
            _fixedBodyLength = 0;
        piece.Content.CopyTo(_fixedBody.AsSpan(_fixedBodyLength));
        _fixedBodyLength += piece.Content.Length;
        return piece.IsEnd;
    }

    private FastCgiProtocolException Malformed(string why)
        => new(FastCgiProtocolError.MalformedRecord, $"The response is malformed: {why}.") { Address = Address };
}
