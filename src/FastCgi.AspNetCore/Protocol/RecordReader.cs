namespace FastCgi.AspNetCore.Protocol;

/// <summary>Parses bytes, split anywhere, and yields content as it arrives. A mutable struct: do not copy it.</summary>
internal struct RecordReader
{
    private ulong _partialHeader;
    private int _partialHeaderLength;
    private RecordHeader _header;
    private int _contentLeft;
    private int _paddingLeft;

    /// <summary>Whether a part of a record, at least of its header, has arrived, but not its whole content.</summary>
    public readonly bool IsInRecord => _contentLeft > 0 || _partialHeaderLength > 0;

    /// <summary>Removes the next piece from the front of <paramref name="input"/>.</summary>
    /// <returns>The result. A bad version consumes nothing and is reported again on each call.</returns>
    public RecordReadResult Read(ref ReadOnlySpan<byte> input, out RecordPiece piece)
    {
        piece = default;
        if (_contentLeft == 0)
        {
            var skipped = Math.Min(_paddingLeft, input.Length);
            input = input[skipped..];
            _paddingLeft -= skipped;
            if (_paddingLeft > 0)
                return RecordReadResult.NeedMore;

            var result = ReadHeader(ref input);
            if (result != RecordReadResult.Piece)
                return result;

            _contentLeft = _header.ContentLength;
        }

        // The first piece contains at least one byte of content.
        if (_contentLeft > 0 && input.IsEmpty)
            return RecordReadResult.NeedMore;

        var isStart = _contentLeft == _header.ContentLength;
        var content = input[..Math.Min(_contentLeft, input.Length)];
        input = input[content.Length..];
        _contentLeft -= content.Length;

        var isEnd = _contentLeft == 0;
        if (isEnd)
            _paddingLeft = _header.PaddingLength;

        piece = new RecordPiece(_header, content, isStart, isEnd);
        return RecordReadResult.Piece;
    }

    private RecordReadResult ReadHeader(ref ReadOnlySpan<byte> input)
    {
        if (_partialHeaderLength == 0)
        {
            if (input.IsEmpty)
                return RecordReadResult.NeedMore;

            // Check this first: the first byte is enough to detect another protocol.
            if (input[0] != ProtocolConstants.Version)
                return RecordReadResult.UnsupportedVersion;

            if (input.Length >= ProtocolConstants.HeaderLength)
            {
                _header = RecordHeader.Parse(input);
                input = input[ProtocolConstants.HeaderLength..];
                return RecordReadResult.Piece;
            }
        }

        for (; _partialHeaderLength < ProtocolConstants.HeaderLength; _partialHeaderLength++)
        {
            if (input.IsEmpty)
                return RecordReadResult.NeedMore;

            _partialHeader = (_partialHeader << 8) | input[0];
            input = input[1..];
        }

        _partialHeaderLength = 0;
        _header = RecordHeader.Parse(_partialHeader);
        return RecordReadResult.Piece;
    }
}

internal enum RecordReadResult : byte
{
    NeedMore,
    Piece,
    UnsupportedVersion,
}

internal readonly ref struct RecordPiece(RecordHeader header, ReadOnlySpan<byte> content, bool isStart, bool isEnd)
{
    public RecordHeader Header { get; } = header;
    public ReadOnlySpan<byte> Content { get; } = content;
    public bool IsStart { get; } = isStart;
    public bool IsEnd { get; } = isEnd;

    /// <summary>Whether the record is empty, which ends a stream (section 3.3).</summary>
    public bool IsEmptyRecord => IsStart && IsEnd && Content.IsEmpty;
}
