namespace FastCgi.AspNetCore.Streams;

/// <summary>The params of a request while they arrive. A mutable struct: keep it in a field, do not copy it.</summary>
internal struct ParameterBuffer
{
    private const int MinCapacity = 512;

    private byte[]? _bytes;

    public int Length { get; private set; }

    /// <param name="content">A piece of the record's content.</param>
    /// <param name="isWhole">
    /// Whether the piece is the whole record and so, with nearly every web server, the whole stream.
    /// </param>
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

    /// <summary>Removes all params, without unused capacity, because a request may run for minutes.</summary>
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
