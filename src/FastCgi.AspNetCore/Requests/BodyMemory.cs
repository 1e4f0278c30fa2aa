using System.Buffers;
using FastCgi.AspNetCore.Buffers;

namespace FastCgi.AspNetCore.Requests;

/// <summary>The memory of one body. What the application may still read when the request ends is not given to anybody else.</summary>
internal sealed class BodyMemory(BufferPool pool) : MemoryPool<byte>
{
    /// <summary>Whether the application has a part of it, so that all of it is left to the garbage collector.</summary>
    public bool IsLeased { get; set; }

    /// <inheritdoc/>
    public override int MaxBufferSize => pool.MaxBufferSize;

    /// <inheritdoc/>
    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => new Owner(this, pool.RentBlock(minBufferSize));

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
    }

    private sealed class Owner(BodyMemory body, BufferBlock block) : IMemoryOwner<byte>
    {
        public Memory<byte> Memory => block.Memory;

        public void Dispose()
        {
            block.IsLeased = body.IsLeased;
            block.Return();
        }
    }
}
