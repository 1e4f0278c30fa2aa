namespace FastCgi.Tool.Commands.Check;

/// <summary>Creates records, well-formed and malformed.</summary>
internal static class CheckRecords
{
    public static byte[] Record(RecordType type, int id, ReadOnlySpan<byte> content = default, int padding = 0,
        byte version = ProtocolConstants.Version, byte reserved = 0)
    {
        var record = new byte[ProtocolConstants.HeaderLength + content.Length + padding];
        new RecordHeader(version, type, (ushort)id, content.Length, padding).Write(record);
        record[7] = reserved;
        content.CopyTo(record.AsSpan(ProtocolConstants.HeaderLength));
        // Padding is never interpreted, so it may contain anything.
        record.AsSpan(ProtocolConstants.HeaderLength + content.Length).Fill(0xA5);
        return record;
    }

    public static byte[] Begin(
        int id = 1, bool keepsConnection = true, int role = 1, int otherFlags = 0, byte reserved = 0)
        => Record(RecordType.BeginRequest, id,
            [(byte)(role >> 8), (byte)role, (byte)((keepsConnection ? 1 : 0) | otherFlags), reserved, reserved,
            reserved, reserved, reserved]);

    public static byte[] Pairs(IEnumerable<(string Name, string Value)> pairs)
    {
        var bytes = new ArrayBufferWriter<byte>();
        foreach (var (name, value) in pairs)
            RecordSender.WritePair(bytes, Encoding.UTF8.GetBytes(name), Encoding.UTF8.GetBytes(value));
        return bytes.WrittenSpan.ToArray();
    }

    public static byte[] LongPair(string name, string value)
        => [0x80, 0, 0, (byte)name.Length, 0x80, 0, 0, (byte)value.Length,
            .. Encoding.UTF8.GetBytes(name), .. Encoding.UTF8.GetBytes(value)];

    public static byte[] Stream(
        RecordType type, int id, byte[] content, int size = ProtocolConstants.MaxContentLength, int padding = 0)
        => [.. content.Chunk(size).Append([]).SelectMany(part => Record(type, id, part, padding))];

    public static byte[] CreateRequest(byte[] parameters, params byte[] body)
        => [.. Begin(), .. Stream(RecordType.Params, 1, parameters), .. Stream(RecordType.Stdin, 1, body)];
}
