namespace FastCgi.AspNetCore.Streams;

/// <summary>The parameters of a request, or a discrete record, in pieces. A mutable struct: do not copy it.</summary>
internal struct PieceBuffer
{
    private const int MinCapacity = 512;

    private byte[]? _bytes;

    public int Length { get; private set; }

    /// <param name="isWhole">Whether the piece is a whole record and so, as a rule, the whole stream.</param>
    public void Append(ReadOnlySpan<byte> content, bool isWhole)
    {
        var needed = Length + content.Length;
        var capacity = _bytes?.Length ?? 0;
        if (needed > capacity)
        {
            // Doubles for many pieces. The length in a record's header is not allocated before the content arrives.
            Resize(isWhole && Length == 0 ? needed : Math.Max(Math.Max(needed, 2 * capacity), MinCapacity));
        }

        content.CopyTo(_bytes.AsSpan(Length));
        Length = needed;
    }

    /// <summary>Adds a piece of a discrete record. The content is valid until the next piece of any record.</summary>
    /// <returns>Whether the content is complete and has the expected length.</returns>
    public bool TryComplete(in RecordPiece piece, int expectedLength, out ReadOnlySpan<byte> content)
    {
        content = piece.Content;
        if (piece.Header.ContentLength != expectedLength)
            return false;

        if (piece.IsStart && piece.IsEnd)
            return true;

        Append(piece.Content, isWhole: false);
        content = _bytes.AsSpan(0, Length);
        return piece.IsEnd;
    }

    /// <summary>Removes the content and returns it without unused capacity: a request may run for minutes.</summary>
    public byte[] RemoveAll()
    {
        if (_bytes is not null && _bytes.Length != Length)
            Resize(Length);
        var all = _bytes ?? [];
        _bytes = null;
        Length = 0;
        return all;
    }

    private void Resize(int capacity)
    {
        var bytes = GC.AllocateUninitializedArray<byte>(capacity);
        _bytes.AsSpan(0, Length).CopyTo(bytes);
        _bytes = bytes;
    }
}
