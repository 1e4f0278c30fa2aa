using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Cgi;

/// <summary>Caches strings by ASCII bytes. New ones replace old ones without a lock, so it cannot grow.</summary>
/// <remarks>Not for secrets or values that rarely repeat (<see cref="HeaderNames.IsUncachedVariable"/>).</remarks>
internal sealed class StringCache
{
    private const int Size = 1_024;
    private const int MaxLength = 192;

    private readonly string?[] _strings = new string?[Size];

    public string GetString(ReadOnlySpan<byte> ascii)
    {
        if (ascii.IsEmpty)
            return string.Empty;

        if (ascii.Length > MaxLength)
            return Encoding.ASCII.GetString(ascii);

        ref var slot = ref _strings[Hash(ascii) & (Size - 1)];
        var cached = slot;
        if (cached is not null && Ascii.Equals(ascii, cached))
            return cached;

        var created = Encoding.ASCII.GetString(ascii);
        slot = created;
        return created;
    }

    /// <summary>Hashes the length and eight bytes at each end.</summary>
    private static uint Hash(ReadOnlySpan<byte> bytes)
    {
        ulong head, tail;
        if (bytes.Length >= 8)
        {
            head = BinaryPrimitives.ReadUInt64LittleEndian(bytes);
            tail = BinaryPrimitives.ReadUInt64LittleEndian(bytes[^8..]);
        }
        else
        {
            head = 0;
            foreach (var b in bytes)
                head = (head << 8) | b;
            tail = head;
        }

        var hash = (head * 0x9E37_79B9_7F4A_7C15) ^ ((tail + (uint)bytes.Length) * 0xC2B2_AE3D_27D4_EB4F);
        return (uint)(hash >> 40);
    }
}
