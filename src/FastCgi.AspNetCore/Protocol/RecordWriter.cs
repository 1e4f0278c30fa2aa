using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

internal static class RecordWriter
{
    public const int FixedRecordLength = ProtocolConstants.HeaderLength + ProtocolConstants.FixedBodyLength;

    public static void WriteHeader(
        Span<byte> destination, RecordType type, ushort requestId, int contentLength, int paddingLength = 0)
        => new RecordHeader(ProtocolConstants.Version, type, requestId, contentLength, paddingLength)
            .Write(destination);

    /// <summary>Writes END_REQUEST (section 5.5): appStatus (32, BE), protocolStatus, three reserved bytes.</summary>
    public static void WriteEndRequest(
        Span<byte> destination, ushort requestId, uint appStatus, ProtocolStatus protocolStatus)
    {
        WriteHeader(destination, RecordType.EndRequest, requestId, ProtocolConstants.FixedBodyLength);
        BinaryPrimitives.WriteUInt64BigEndian(
            destination[ProtocolConstants.HeaderLength..],
            ((ulong)appStatus << 32) | ((ulong)protocolStatus << 24));
    }

    /// <summary>Writes UNKNOWN_TYPE (section 4.2): the unknown type, seven reserved bytes.</summary>
    public static void WriteUnknownType(Span<byte> destination, RecordType unknown)
    {
        WriteHeader(
            destination, RecordType.UnknownType, ProtocolConstants.NullRequestId, ProtocolConstants.FixedBodyLength);
        BinaryPrimitives.WriteUInt64BigEndian(destination[ProtocolConstants.HeaderLength..], (ulong)unknown << 56);
    }
}
