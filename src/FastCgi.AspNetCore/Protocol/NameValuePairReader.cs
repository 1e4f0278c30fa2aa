using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>Reads the name-value pairs of a complete stream (FastCGI specification, section 3.4).</summary>
/// <remarks>Adds lengths in 64 bits: fcgi2 overflowed 32 bits (CVE-2025-23016).</remarks>
internal ref struct NameValuePairReader(ReadOnlySpan<byte> stream)
{
    private readonly ReadOnlySpan<byte> _stream = stream;

    public int Offset { get; private set; }
    public bool IsMalformed { get; private set; }

    public bool TryRead(out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        name = default;
        value = default;
        if (Offset == _stream.Length)
            return false;

        var rest = _stream[Offset..];
        var nameLengthSize = ReadLength(rest, out var nameLength);
        var valueLengthSize = ReadLength(rest[nameLengthSize..], out var valueLength);
        if (nameLengthSize == 0 || valueLengthSize == 0
            || (ulong)(nameLengthSize + valueLengthSize) + nameLength + valueLength > (ulong)rest.Length)
        {
            IsMalformed = true;
            return false;
        }

        var nameStart = nameLengthSize + valueLengthSize;
        name = rest.Slice(nameStart, (int)nameLength);
        value = rest.Slice(nameStart + (int)nameLength, (int)valueLength);
        Offset += nameStart + (int)nameLength + (int)valueLength;
        return true;
    }

    private static int ReadLength(ReadOnlySpan<byte> source, out uint length)
    {
        length = 0;
        if (source.IsEmpty)
            return 0;

        length = source[0];
        if (length <= 0x7f)
            return 1;

        if (source.Length < 4)
            return 0;

        length = BinaryPrimitives.ReadUInt32BigEndian(source) & 0x7fff_ffff;
        return 4;
    }
}
