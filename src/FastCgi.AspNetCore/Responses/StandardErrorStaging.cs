using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Responses;

/// <summary>
/// The STDERR records of one response until they are put in the line, which is never before its header block: nginx reads both into
/// one buffer of a page, and answers 502 when they do not fit it together. Bounded in all, for the web server's log is on somebody's
/// disk. Guarded by the monitor of the response's output.
/// </summary>
internal sealed class StandardErrorStaging(BufferPool pool, ushort requestId, long? maxLength)
{
    private long _freeLength = maxLength ?? long.MaxValue;
    private BufferBlock? _first;
    private BufferBlock? _last;
    private bool _isOpen;

    /// <summary>Stages a record, or what the limit leaves of it.</summary>
    public void Append(ReadOnlySpan<byte> content)
    {
        var length = (int)Math.Min(content.Length, _freeLength);
        if (length == 0)
            return;

        _isOpen = true;
        _freeLength -= length;
        AppendRecord(content[..length]);
    }

    /// <summary>Takes the records that are staged.</summary>
    /// <param name="isEnd">Whether END_REQUEST follows, so that the stream ends with them, if there is one.</param>
    public BufferBlock? Take(bool isEnd)
    {
        if (isEnd && _isOpen)
            AppendRecord(content: default);

        var head = _first;
        _first = _last = null;
        return head;
    }

    private void AppendRecord(ReadOnlySpan<byte> content)
    {
        var length = ProtocolConstants.HeaderLength + content.Length;
        if (_last is null || _last.FreeLength < length)
        {
            var block = pool.RentBlock(length);
            if (_last is null)
                _first = block;
            else
                _last.Next = block;
            _last = block;
        }

        RecordWriter.WriteHeader(_last.FreeSpan, RecordType.Stderr, requestId, content.Length);
        _last.End += ProtocolConstants.HeaderLength;
        _last.Append(content);
    }
}
