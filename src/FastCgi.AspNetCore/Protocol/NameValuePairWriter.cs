using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>Writes name-value pairs (FastCGI specification, section 3.4), lengths in their shortest form.</summary>
internal static class NameValuePairWriter
{
    public static int GetLength(int nameLength, int valueLength)
        => LengthSize(nameLength) + LengthSize(valueLength) + nameLength + valueLength;

    public static int Write(Span<byte> destination, ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        var written = WriteLength(destination, name.Length);
        written += WriteLength(destination[written..], value.Length);
        name.CopyTo(destination[written..]);
        written += name.Length;
        value.CopyTo(destination[written..]);
        return written + value.Length;
    }

    private static int LengthSize(int length) => length <= 0x7f ? 1 : 4;

    private static int WriteLength(Span<byte> destination, int length)
    {
        if (length <= 0x7f)
        {
            destination[0] = (byte)length;
            return 1;
        }

        BinaryPrimitives.WriteUInt32BigEndian(destination, (uint)length | 0x8000_0000);
        return 4;
    }
}
