namespace FastCgi.AspNetCore.UnitTests.Protocol;

/// <summary>
/// The bytes of records and name-value pairs, put together by hand from the specification (sections 3.3 and 3.4), so that no
/// codec is tested with its own other half.
/// </summary>
internal static class SpecificationBytes
{
    public static byte[] Record(int type, int id, byte[] content, int padding = 0, byte reserved = 0, byte version = 1, byte paddingByte = 0)
    {
        var record = new byte[8 + content.Length + padding];
        record[0] = version;
        record[1] = (byte)type;
        record[2] = (byte)(id / 256);
        record[3] = (byte)(id % 256);
        record[4] = (byte)(content.Length / 256);
        record[5] = (byte)(content.Length % 256);
        record[6] = (byte)padding;
        record[7] = reserved;
        content.CopyTo(record, 8);
        Array.Fill(record, paddingByte, 8 + content.Length, padding);
        return record;
    }

    public static byte[] Pair(string name, string value) => Pair(Encoding.Latin1.GetBytes(name), Encoding.Latin1.GetBytes(value));

    public static byte[] Pair(byte[] name, byte[] value) => [.. Length(name.Length), .. Length(value.Length), .. name, .. value];

    public static byte[] Pairs(params (string Name, string Value)[] pairs) => [.. pairs.SelectMany(static pair => Pair(pair.Name, pair.Value))];

    public static byte[] Length(long length) => length < 128 ? [(byte)length] : LongLength(length);

    public static byte[] LongLength(long length)
        => [(byte)(128 + (length / 16_777_216)), (byte)(length / 65_536 % 256), (byte)(length / 256 % 256), (byte)(length % 256)];

    /// <summary>Bytes that differ from place to place, so that a piece that is lost or moved shows.</summary>
    public static byte[] Content(int length)
    {
        var content = new byte[length];
        for (var i = 0; i < Math.Min(length, 70_000); i++)
            content[i] = (byte)((i * 31) ^ (i >> 8));
        return content;
    }
}
