namespace FastCgi.AspNetCore.Requests;

/// <summary>
/// The STDERR records of one response until they are queued, which never happens before its header block: nginx reads
/// both into one buffer of a page, and returns 502 if they do not fit. Limited in total, because the web server's log
/// is on disk. Excess lines are dropped with a note.
/// </summary>
internal sealed class StandardErrorStaging(BufferPool pool, ushort requestId, long? maxLength)
{
    private BufferChain _records;
    private long _textLength;
    private long _recordLength;
    private bool _isFull;

    /// <summary>Stages a line as a record, unless the limit is reached.</summary>
    public void Append(ReadOnlySpan<byte> line)
    {
        if (_isFull)
            return;

        // The text counts, but short lines need more memory for their records, so that is limited too.
        _isFull = _textLength + line.Length > maxLength
            || _recordLength + ProtocolConstants.HeaderLength + line.Length > maxLength + BufferPool.LargeBlockSize;
        _textLength += line.Length;
        AppendRecord(_isFull
            ? Encoding.ASCII.GetBytes(string.Create(
                CultureInfo.InvariantCulture, $"The rest of this request's standard error is dropped: "
                    + $"MaxStandardErrorSize is {maxLength} bytes.\n"))
            : line);
    }

    /// <param name="isEnd">Whether END_REQUEST follows, so that the stream, if any, must end.</param>
    public BufferBlock? Take(bool isEnd)
    {
        if (isEnd && _recordLength > 0)
            AppendRecord(content: default);

        return _records.Clear();
    }

    private void AppendRecord(ReadOnlySpan<byte> content)
    {
        var length = ProtocolConstants.HeaderLength + content.Length;
        if (_records.Tail is not { } block || block.FreeLength < length)
        {
            block = pool.RentBlock(_records.Tail is null ? length : BufferPool.LargeBlockSize);
            _records.Append(block);
        }

        RecordWriter.WriteHeader(block.FreeSpan, RecordType.Stderr, requestId, content.Length);
        block.End += ProtocolConstants.HeaderLength;
        block.Append(content);
        _recordLength += length;
    }
}
