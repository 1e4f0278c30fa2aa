using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>
/// The eight bytes before the content of every record (FastCGI specification, section 3.3):
/// <code>
/// +---------+------+---------------------+---------------------+---------------+----------+
/// | version | type | requestId (16, BE)  | contentLength (BE)  | paddingLength | reserved |
/// +---------+------+---------------------+---------------------+---------------+----------+
/// </code>
/// </summary>
/// <param name="Type">May be a number that <see cref="RecordType"/> does not define.</param>
/// <param name="RequestId">0 for management records.</param>
internal readonly record struct RecordHeader(
    byte Version, RecordType Type, ushort RequestId, int ContentLength, int PaddingLength)
{
    public static RecordHeader Parse(ReadOnlySpan<byte> source)
        => Parse(BinaryPrimitives.ReadUInt64BigEndian(source));

    public static RecordHeader Parse(ulong bytes) => new(
        Version: (byte)(bytes >> 56),
        Type: (RecordType)(byte)(bytes >> 48),
        RequestId: (ushort)(bytes >> 32),
        ContentLength: (ushort)(bytes >> 16),
        PaddingLength: (byte)(bytes >> 8));

    public void Write(Span<byte> destination) => BinaryPrimitives.WriteUInt64BigEndian(
        destination,
        ((ulong)Version << 56) | ((ulong)Type << 48) | ((ulong)RequestId << 32)
            | ((ulong)ContentLength << 16) | ((ulong)PaddingLength << 8));
}
