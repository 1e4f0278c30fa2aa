namespace FastCgi.AspNetCore.Buffers;

/// <summary>The two ends of a chain of blocks, and the bytes in use in it. A mutable struct: keep it in a field, do not copy it.</summary>
internal struct BufferChain
{
    /// <summary>The first block.</summary>
    public BufferBlock? Head { get; private set; }

    /// <summary>The last block.</summary>
    public BufferBlock? Tail { get; private set; }

    /// <summary>The bytes that were in use when blocks were appended.</summary>
    public int Length { get; private set; }

    /// <summary>Appends a block, or a chain of them.</summary>
    public void Append(BufferBlock? block)
    {
        if (block is null)
            return;

        if (Tail is null)
            Head = block;
        else
            Tail.Next = block;

        for (; ; block = block.Next)
        {
            Length += block.Length;
            Tail = block;
            if (block.Next is null)
                return;
        }
    }

    /// <summary>Takes the first block off.</summary>
    public BufferBlock RemoveFirst()
    {
        var first = Head!;
        Head = first.Next;
        if (Head is null)
            Tail = null;
        first.Next = null;
        Length -= first.Length;
        return first;
    }

    /// <summary>Takes all blocks off.</summary>
    public BufferBlock? Clear()
    {
        var head = Head;
        this = default;
        return head;
    }
}
