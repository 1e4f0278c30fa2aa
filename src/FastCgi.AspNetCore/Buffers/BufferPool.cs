namespace FastCgi.AspNetCore.Buffers;

/// <summary>The buffers of one server: small blocks for headers and short bodies, large blocks for the rest.</summary>
internal sealed class BufferPool
{
    public const int SmallBlockSize = 4_096;

    /// <summary>The length of a large block: 8 bytes of record header and 65,528 bytes of content.</summary>
    public const int LargeBlockSize = 65_536;

    private readonly BlockPool _small = new(SmallBlockSize);
    private readonly BlockPool _large = new(LargeBlockSize);

    public long AllocatedBytes => _small.AllocatedBytes + _large.AllocatedBytes;
    public int RentedCount => _small.RentedCount + _large.RentedCount;

    /// <summary>Rents a block. One that is larger than a large block is not pooled.</summary>
    public BufferBlock RentBlock(int minimumLength) => minimumLength switch
    {
        <= SmallBlockSize => _small.Rent(),
        <= LargeBlockSize => _large.Rent(),
        _ => new BufferBlock(minimumLength),
    };

    /// <summary>Frees unused blocks gradually after a peak. Called every second.</summary>
    public void Trim()
    {
        _small.Trim();
        _large.Trim();
    }
}
