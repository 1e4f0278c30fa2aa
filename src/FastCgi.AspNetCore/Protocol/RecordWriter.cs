using System.Buffers.Binary;

namespace FastCgi.AspNetCore.Protocol;

/// <summary>Writes records, or the headers that make records of bytes already in place, to a span.</summary>
internal static class RecordWriter
{
    /// <summary>The length of an END_REQUEST or UNKNOWN_TYPE record.</summary>
    public const int FixedRecordLength = ProtocolConstants.HeaderLength + ProtocolConstants.FixedBodyLength;

    /// <summary>Writes the header of a record whose content follows or is already there.</summary>
    public static void WriteHeader(Span<byte> destination, RecordType type, ushort requestId, int contentLength, int paddingLength = 0)
        => new RecordHeader(ProtocolConstants.Version, type, requestId, contentLength, paddingLength).Write(destination);

    /// <summary>Writes an END_REQUEST record (section 5.5): appStatus (32, BE), protocolStatus, three reserved bytes.</summary>
    public static void WriteEndRequest(Span<byte> destination, ushort requestId, uint appStatus, ProtocolStatus protocolStatus)
    {
        WriteHeader(destination, RecordType.EndRequest, requestId, ProtocolConstants.FixedBodyLength);
        BinaryPrimitives.WriteUInt64BigEndian(
            destination[ProtocolConstants.HeaderLength..],
            ((ulong)appStatus << 32) | ((ulong)protocolStatus << 24));
    }

    /// <summary>Writes an UNKNOWN_TYPE record (section 4.2): the type that was not understood, seven reserved bytes.</summary>
    public static void WriteUnknownType(Span<byte> destination, RecordType unknown)
    {
        WriteHeader(destination, RecordType.UnknownType, ProtocolConstants.NullRequestId, ProtocolConstants.FixedBodyLength);
        BinaryPrimitives.WriteUInt64BigEndian(destination[ProtocolConstants.HeaderLength..], (ulong)unknown << 56);
    }
}
