using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>
/// The eight bytes before every record's content (FastCGI specification, section 3.3):
/// <code>
/// +---------+------+---------------------+---------------------+---------------+----------+
/// | version | type | requestId (16, BE)  | contentLength (BE)  | paddingLength | reserved |
/// +---------+------+---------------------+---------------------+---------------+----------+
/// </code>
/// </summary>
/// <param name="Version">1 in this version of the protocol.</param>
/// <param name="Type">What the content is; may be a number that <see cref="RecordType"/> does not name.</param>
/// <param name="RequestId">The request the record belongs to, 0 for management records.</param>
/// <param name="ContentLength">Bytes of content, 0 to 65,535.</param>
/// <param name="PaddingLength">Bytes after the content that are skipped, 0 to 255.</param>
internal readonly record struct RecordHeader(byte Version, RecordType Type, ushort RequestId, int ContentLength, int PaddingLength)
{
    /// <summary>Reads a header from the first eight bytes of <paramref name="source"/>. The reserved byte is ignored.</summary>
    public static RecordHeader Parse(ReadOnlySpan<byte> source)
    {
        var bytes = BinaryPrimitives.ReadUInt64BigEndian(source);
        return new RecordHeader(
            Version: (byte)(bytes >> 56),
            Type: (RecordType)(byte)(bytes >> 48),
            RequestId: (ushort)(bytes >> 32),
            ContentLength: (ushort)(bytes >> 16),
            PaddingLength: (byte)(bytes >> 8));
    }

    /// <summary>Writes the header to the first eight bytes of <paramref name="destination"/>.</summary>
    public void Write(Span<byte> destination) => BinaryPrimitives.WriteUInt64BigEndian(
        destination,
        ((ulong)Version << 56) | ((ulong)Type << 48) | ((ulong)RequestId << 32) | ((ulong)ContentLength << 16) | ((ulong)PaddingLength << 8));
}
