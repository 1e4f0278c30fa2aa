namespace FastCgi.AspNetCore.Streams;

/// <summary>
/// Assembles the content of a discrete record that came in pieces, which is rare. A mutable struct: keep it in a field,
/// do not copy it.
/// </summary>
internal struct RecordContent
{
    private byte[]? _buffer;
    private int _length;

    public readonly bool IsBegun => _buffer is not null;

    /// <summary>Takes a piece. The content is valid until the next piece of any record.</summary>
    /// <returns>Whether the content is complete and has the expected length.</returns>
    public bool TryComplete(in RecordPiece piece, int expectedLength, out ReadOnlySpan<byte> content)
    {
        content = piece.Content;
        if (piece.Header.ContentLength != expectedLength)
            return false;

        if (piece.IsStart && piece.IsEnd)
            return true;

        Reserve(_length + piece.Content.Length);
        piece.Content.CopyTo(_buffer.AsSpan(_length));
        _length += piece.Content.Length;
        content = _buffer.AsSpan(0, _length);
        return piece.IsEnd;
    }

    /// <summary>Grows with what has arrived: the length in a record's header costs nothing.</summary>
    private void Reserve(int length)
    {
        if (_buffer is not null && _buffer.Length >= length)
            return;

        var larger = ArrayPool<byte>.Shared.Rent(Math.Max(length, 2 * _length));
        _buffer.AsSpan(0, _length).CopyTo(larger);
        if (_buffer is not null)
            ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = larger;
    }

    public void Return()
    {
        if (_buffer is not null)
            ArrayPool<byte>.Shared.Return(_buffer);
        _buffer = null;
        _length = 0;
    }
}
