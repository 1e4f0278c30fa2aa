namespace FastCgi.AspNetCore.Buffers;

/// <summary>A pool of blocks of one size. Slots per processor cache a few blocks without a lock.</summary>
internal sealed class BlockPool(int blockSize)
{
    private const int SlotsPerProcessor = 8;

    // Two cache lines of references separate the slots of processors.
    private const int SlotGap = 16;
    private const int SlotStride = SlotGap + SlotsPerProcessor;

    private readonly Lock _lock = new();
    private readonly Stack<BufferBlock> _free = [];
    private readonly BufferBlock?[] _slots = new BufferBlock?[(SlotStride * Environment.ProcessorCount) + SlotGap];

    // The minimum of free blocks since the last trim: these were not needed.
    private int _unneededCount;
    private int _count;

    public long AllocatedBytes => (long)Volatile.Read(ref _count) * blockSize;

    public int RentedCount
    {
        get
        {
            using (_lock.Acquire())
                return _count - _free.Count - _slots.Count(static block => block is not null);
        }
    }

    public BufferBlock Rent()
    {
        var first = FirstSlot();
        for (var i = first; i < first + SlotsPerProcessor; i++)
        {
            if (_slots[i] is not null && Interlocked.Exchange(ref _slots[i], null) is { } cached)
            {
                cached.IsRented = true;
                return cached;
            }
        }

        using (_lock.Acquire())
        {
            if (_free.TryPop(out var free))
            {
                _unneededCount = Math.Min(_unneededCount, _free.Count);
                free.IsRented = true;
                return free;
            }
        }

        var block = new BufferBlock(blockSize, this);
        Interlocked.Increment(ref _count);
        return block;
    }

    internal void Return(BufferBlock block)
    {
        block.IsRented = false;
        var first = FirstSlot();
        for (var i = first; i < first + SlotsPerProcessor; i++)
        {
            if (_slots[i] is null && Interlocked.CompareExchange(ref _slots[i], block, null) is null)
                return;
        }

        using (_lock.Acquire())
            _free.Push(block);
    }

    /// <summary>Leaves a block to the garbage collector, because the application may still write to it.</summary>
    internal void Abandon(BufferBlock block)
    {
        block.IsRented = false;
        Interlocked.Decrement(ref _count);
    }

    /// <summary>Frees half of the blocks that were not needed since the last call, rounded up.</summary>
    public void Trim()
    {
        using (_lock.Acquire())
        {
            for (var surplus = (_unneededCount + 1) / 2; surplus > 0; surplus--)
            {
                _free.Pop();
                Interlocked.Decrement(ref _count);
            }

            for (var i = 0; i < _slots.Length; i++)
            {
                if (Interlocked.Exchange(ref _slots[i], null) is { } block)
                    _free.Push(block);
            }

            _unneededCount = _free.Count;
        }
    }

    private int FirstSlot()
    {
        var processor = (uint)Thread.GetCurrentProcessorId() % (uint)(_slots.Length / SlotStride);
        return ((int)processor * SlotStride) + SlotGap;
    }
}
