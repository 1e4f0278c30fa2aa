namespace FastCgi.AspNetCore.Requests;

/// <summary>Lines for the web server's error log, each in its own record. Any thread may write.</summary>
/// <remarks>
/// Never queued before the header block: nginx reads both into one buffer of a page, and returns 502 if they do not
/// fit. The total is limited, because the web server's log is on disk. Excess lines are dropped with a note.
/// </remarks>
internal sealed class StandardErrorWriter : TextWriter
{
    // A longer line is split: nginx truncates log lines at 2,048 bytes.
    private const int MaxLineLength = 2_000;

    private readonly FastCgiRequest _request;
    private readonly long? _maxLength;
    private readonly StringBuilder _line = new();
    private BufferChain _records;
    private long _textLength;
    private long _recordLength;
    private bool _isFull;

    public StandardErrorWriter(FastCgiRequest request)
        : base(CultureInfo.InvariantCulture)
    {
        _request = request;
        _maxLength = request.Server.Options.Limits.MaxStandardErrorSize;
        CoreNewLine = ['\n'];
    }

    public override Encoding Encoding => Encoding.UTF8;

    public override void Write(char value) => Write([value], endsLine: false);

    public override void Write(char[] buffer, int index, int count)
        => Write(buffer.AsSpan(index, count), endsLine: false);

    public override void Write(string? value) => Write(value, endsLine: false);

    public override void WriteLine(string? value) => Write(value, endsLine: true);

    public override void WriteLine(ReadOnlySpan<char> buffer) => Write(buffer, endsLine: true);

    public override void Flush()
    {
        using (var scope = _request.EnterLock())
            EndLine(scope);
        _request.Response.SendErrors();
    }

    /// <summary>Ends a line, unless it is empty. Drops it after the end of the response.</summary>
    public void EndLine(ConnectionScope scope)
    {
        if (_line.Length > 0 && !_request.IsDetached)
        {
            AppendLine(Encoding.GetBytes(_line.Append('\n').ToString()));
            _request.Response.QueueErrors(scope);
        }

        _line.Clear();
    }

    /// <param name="isEnd">Whether END_REQUEST follows, so that the stream, if any, must end.</param>
    public BufferBlock? TakeRecords(bool isEnd)
    {
        if (isEnd && _recordLength > 0)
            AppendRecord(content: default);

        return _records.Clear();
    }

    /// <summary>Only flushes, because the writer belongs to the request.</summary>
    protected override void Dispose(bool disposing)
    {
        Flush();
        base.Dispose(disposing);
    }

    private void Write(ReadOnlySpan<char> text, bool endsLine)
    {
        using (var scope = _request.EnterLock())
        {
            ObjectDisposedException.ThrowIf(_request.HasReturned, typeof(IFastCgiRequestFeature));
            foreach (var c in text)
                Append(scope, c);
            if (endsLine)
                EndLine(scope);
        }

        _request.Response.SendErrors();
    }

    private void Append(ConnectionScope scope, char c)
    {
        if (c == '\n')
            EndLine(scope);
        else if (char.IsControl(c) && c != '\t')
            _line.Append(CultureInfo.InvariantCulture, $"\\x{(int)c:X2}");
        else
            _line.Append(c);

        // Never split a surrogate pair. At most one unpaired first half waits for its second.
        if (_line.Length > MaxLineLength || (_line.Length == MaxLineLength && !char.IsHighSurrogate(c)))
            EndLine(scope);
    }

    private void AppendLine(ReadOnlySpan<byte> line)
    {
        if (_isFull)
            return;

        // Counts the text, and limits the records too: short lines need more memory for them.
        _isFull = _textLength + line.Length > _maxLength
            || _recordLength + ProtocolConstants.HeaderLength + line.Length - BufferPool.LargeBlockSize > _maxLength;
        _textLength += line.Length;
        AppendRecord(_isFull
            ? Encoding.ASCII.GetBytes(string.Create(
                CultureInfo.InvariantCulture, $"The rest of this request's standard error is dropped: "
                    + $"MaxStandardErrorSize is {_maxLength} bytes.\n"))
            : line);
    }

    private void AppendRecord(ReadOnlySpan<byte> content)
    {
        var length = ProtocolConstants.HeaderLength + content.Length;
        if (_records.Tail is not { } block || block.FreeLength < length)
        {
            block = _request.Connection.Output.Pool.RentBlock(
                _records.Tail is null ? length : BufferPool.LargeBlockSize);
            _records.Append(block);
        }

        RecordWriter.WriteHeader(block.FreeSpan, RecordType.Stderr, _request.Id, content.Length);
        block.End += ProtocolConstants.HeaderLength;
        block.Append(content);
        _recordLength += length;
    }
}
