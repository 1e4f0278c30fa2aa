namespace FastCgi.AspNetCore.Streams;

/// <summary>A block of the body. Only the block is reused, and not before it is consumed.</summary>
internal sealed class BodySegment : ReadOnlySequenceSegment<byte>
{
    private readonly BufferBlock _block;

    public BodySegment(BufferBlock block, BodySegment? previous, long index)
    {
        _block = block;
        RunningIndex = previous?.EndIndex ?? index;
        if (previous is not null)
            previous.Next = this;
    }

    public BodySegment? NextSegment => (BodySegment?)Next;
    public long EndIndex => RunningIndex + Memory.Length;
    public int FreeLength => _block.FreeLength;

    public int Append(ReadOnlySpan<byte> content)
    {
        var count = Math.Min(content.Length, _block.FreeLength);
        _block.Append(content[..count]);
        Memory = _block.Memory[.._block.End];
        return count;
    }

    /// <param name="isLeased">Whether the application may hold the block. If so, it is not pooled again.</param>
    public void Return(bool isLeased)
    {
        if (!isLeased)
            Memory = default;
        _block.IsLeased = isLeased;
        _block.Return();
    }
}
