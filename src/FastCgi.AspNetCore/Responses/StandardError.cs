using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The STDERR stream of one request: records that go to the web server ahead of what waits of the response. Bounded in all, for the
/// web server's log is on somebody's disk. Its state is guarded by the lock of the connection.
/// </summary>
internal sealed class StandardError(RecordOutput connection, ushort requestId, long? maxLength)
{
    private long _freeLength = maxLength ?? long.MaxValue;
    private bool _isOpen;
    private bool _isClosed;

    /// <summary>The stream as text.</summary>
    public StandardErrorWriter OpenWriter() => new(this);

    /// <summary>Sends a record, or what may still be sent of it.</summary>
    public void Write(ReadOnlySpan<byte> content)
    {
        lock (connection.Lock)
        {
            var length = (int)Math.Min(content.Length, _freeLength);
            if (length == 0 || _isClosed || connection.IsClosed)
                return;

            _isOpen = true;
            _freeLength -= length;
            WriteRecord(content[..length]);
        }

        connection.Flush();
    }

    /// <summary>Ends the stream, if there is one: END_REQUEST is about to go in the line. Call it under the lock.</summary>
    public void Close()
    {
        if (_isOpen && !_isClosed && !connection.IsClosed)
            WriteRecord(content: default);
        _isClosed = true;
    }

    private void WriteRecord(ReadOnlySpan<byte> content)
    {
        var record = connection.WriteControl(ProtocolConstants.HeaderLength + content.Length);
        RecordWriter.WriteHeader(record, RecordType.Stderr, requestId, content.Length);
        content.CopyTo(record[ProtocolConstants.HeaderLength..]);
    }
}
