namespace FastCgi.AspNetCore.Buffers;

/// <summary>
/// The buffers of one server: small blocks for response headers and short bodies, large blocks for other data.
/// </summary>
internal sealed class BufferPool : MemoryPool<byte>
{
    public const int SmallBlockSize = 4_096;

    /// <summary>8 bytes of record header and 65,528 bytes of content.</summary>
    public const int LargeBlockSize = 65_536;

    private readonly BlockPool _small = new(SmallBlockSize);
    private readonly BlockPool _large = new(LargeBlockSize);

    public override int MaxBufferSize => int.MaxValue;
    public long AllocatedBytes => _small.AllocatedBytes + _large.AllocatedBytes;
    public int RentedCount => _small.RentedCount + _large.RentedCount;

    /// <summary>
    /// Rents a block of at least <paramref name="minimumLength"/> bytes. A block larger than a large block is not
    /// pooled.
    /// </summary>
    public BufferBlock RentBlock(int minimumLength) => minimumLength switch
    {
        <= SmallBlockSize => _small.Rent(),
        <= LargeBlockSize => _large.Rent(),
        _ => new BufferBlock(minimumLength),
    };

    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => RentBlock(minBufferSize);

    /// <summary>Frees unused blocks gradually after a peak. Called every second.</summary>
    public void Trim()
    {
        _small.Trim();
        _large.Trim();
    }

    protected override void Dispose(bool disposing)
    {
    }
}
