namespace FastCgi.AspNetCore.Buffers;

/// <summary>A pool of blocks of one size, cut from slabs under a lock. Slots per processor cache a few blocks without a lock.</summary>
internal sealed class SlabPool(int blockSize, int blocksPerSlab)
{
    private const int SlotsPerProcessor = 8;

    // Two cache lines of references separate the slots of processors.
    private const int SlotGap = 16;
    private const int SlotStride = SlotGap + SlotsPerProcessor;

    private readonly Lock _lock = new();
    private readonly List<Slab> _slabsWithFreeBlocks = [];
    private readonly BufferBlock?[] _slots = new BufferBlock?[(SlotStride * Environment.ProcessorCount) + SlotGap];
    private int _slabCount;
    private int _rentedCount;

    public long AllocatedBytes => (long)Volatile.Read(ref _slabCount) * blocksPerSlab * blockSize;

    /// <summary>Rented blocks, without those cached in slots.</summary>
    public int RentedCount
    {
        get
        {
            lock (_lock)
                return _rentedCount - _slots.Count(static block => block is not null);
        }
    }

    public BufferBlock Rent()
    {
        var first = FirstSlot();
        for (var i = first; i < first + SlotsPerProcessor; i++)
        {
            if (_slots[i] is not null && Interlocked.Exchange(ref _slots[i], null) is { } block)
            {
                block.IsRented = true;
                return block;
            }
        }

        return RentFromSlab();
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

        lock (_lock)
            ReturnToSlab(block);
    }

    /// <summary>Drops a block that must not be reused. Its slab is freed without it.</summary>
    internal void Abandon(BufferBlock block)
    {
        block.IsRented = false;
        lock (_lock)
        {
            block.Slab!.Abandon();
            _rentedCount--;
            if (block.Slab is { IsWhole: true, IsEmpty: true })
                _slabCount--;
        }
    }

    /// <summary>Releases half of the unused slabs, rounded up, except one. Called every few seconds.</summary>
    public void Trim()
    {
        lock (_lock)
        {
            if (_slabCount <= 1)
                return;

            ReturnSlots();
            var whole = _slabsWithFreeBlocks.Count(static slab => slab.IsWhole);
            var surplus = (whole == _slabCount ? whole - 1 : whole) + 1 >> 1;
            for (var i = _slabsWithFreeBlocks.Count - 1; i >= 0 && surplus > 0; i--)
            {
                if (!_slabsWithFreeBlocks[i].IsWhole)
                    continue;

                _slabsWithFreeBlocks.RemoveAt(i);
                _slabCount--;
                surplus--;
            }
        }
    }

    private int FirstSlot() => (int)((uint)Thread.GetCurrentProcessorId() % (uint)(_slots.Length / SlotStride)) * SlotStride + SlotGap;

    private BufferBlock RentFromSlab()
    {
        lock (_lock)
        {
            if (_slabsWithFreeBlocks.Count == 0)
            {
                _slabsWithFreeBlocks.Add(new Slab(this, blockSize, blocksPerSlab));
                _slabCount++;
            }

            var slab = _slabsWithFreeBlocks[^1];
            var block = slab.Pop();
            if (slab.IsEmpty)
                _slabsWithFreeBlocks.RemoveAt(_slabsWithFreeBlocks.Count - 1);

            block.IsRented = true;
            _rentedCount++;
            return block;
        }
    }

    private void ReturnToSlab(BufferBlock block)
    {
        var slab = block.Slab!;
        if (slab.IsEmpty)
            _slabsWithFreeBlocks.Add(slab);

        slab.Push(block);
        _rentedCount--;
    }

    private void ReturnSlots()
    {
        for (var i = 0; i < _slots.Length; i++)
        {
            if (Interlocked.Exchange(ref _slots[i], null) is { } block)
                ReturnToSlab(block);
        }
    }
}
