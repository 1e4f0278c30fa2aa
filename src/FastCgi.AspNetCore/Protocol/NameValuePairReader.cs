using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>
/// Reads the name-value pairs of a complete stream (FastCGI specification, section 3.4): each length is one byte up to 127,
/// else four bytes with the high bit set; the lengths come first, then the name, then the value.
/// </summary>
/// <remarks>
/// Lengths of 127 or less in four bytes are accepted. The sum of both lengths is formed in 64 bits and compared with what is
/// left of the stream before anything is taken (fcgi2, CVE-2025-23016, wrapped it at 32).
/// </remarks>
internal ref struct NameValuePairReader(ReadOnlySpan<byte> stream)
{
    private readonly ReadOnlySpan<byte> _stream = stream;

    /// <summary>Where the next pair begins.</summary>
    public int Offset { get; private set; }

    /// <summary>Whether the stream ended inside a pair.</summary>
    public bool IsMalformed { get; private set; }

    /// <summary>Reads the next pair. The spans are of the stream itself.</summary>
    /// <returns><see langword="false"/> at the end of the stream, or where it is malformed.</returns>
    public bool TryRead(out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> value)
    {
        name = default;
        value = default;
        if (Offset == _stream.Length)
            return false;

        var rest = _stream[Offset..];
        var nameLengthSize = ReadLength(rest, out var nameLength);
        var valueLengthSize = ReadLength(rest[nameLengthSize..], out var valueLength);
        if (nameLengthSize == 0 || valueLengthSize == 0 || (ulong)(nameLengthSize + valueLengthSize) + nameLength + valueLength > (ulong)rest.Length)
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

    /// <summary>Reads one length.</summary>
    /// <returns>The bytes it took, or 0 if the source ends inside it.</returns>
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
