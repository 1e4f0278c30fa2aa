using System.Buffers;

namespace FastCgi.AspNetCore.Buffers;

/// <summary>
/// The buffers of one server: small blocks for header blocks and short bodies, large blocks for long bodies and for what is received.
/// A large block holds a record with the most content that needs no padding.
/// </summary>
internal sealed class BufferPool : MemoryPool<byte>
{
    /// <summary>The bytes of a small block: a page.</summary>
    public const int SmallBlockSize = 4_096;

    /// <summary>The bytes of a large block: 8 of a record header and 65,528 of content.</summary>
    public const int LargeBlockSize = 65_536;

    private readonly SlabPool _small = new(SmallBlockSize, blocksPerSlab: 32);
    private readonly SlabPool _large = new(LargeBlockSize, blocksPerSlab: 8);

    /// <inheritdoc/>
    public override int MaxBufferSize => int.MaxValue;

    /// <summary>The bytes the pool holds, in use or not.</summary>
    public long AllocatedBytes => _small.AllocatedBytes + _large.AllocatedBytes;

    /// <summary>The blocks that are out.</summary>
    public int RentedCount => _small.RentedCount + _large.RentedCount;

    /// <summary>Takes a block of at least <paramref name="minimumLength"/> bytes. One of more than a large block is not pooled.</summary>
    public BufferBlock RentBlock(int minimumLength) => minimumLength switch
    {
        <= SmallBlockSize => _small.Rent(),
        <= LargeBlockSize => _large.Rent(),
        _ => new BufferBlock(minimumLength),
    };

    /// <inheritdoc/>
    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => RentBlock(minBufferSize);

    /// <summary>Frees slabs that a past peak has left. Call it every few seconds.</summary>
    public void Trim()
    {
        _small.Trim();
        _large.Trim();
    }

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
    }
}
