namespace FastCgi.AspNetCore.UnitTests.Protocol;

public sealed class RecordHeaderTests
{
    // version, type, requestId B1 B0, contentLength B1 B0, paddingLength, reserved (section 3.3).
    [Theory]
    [InlineData("01 01 00 01 00 08 00 00", 1, 1, 1, 8, 0)]
    [InlineData("01 04 00 02 01 00 07 00", 1, 4, 2, 256, 7)]
    [InlineData("01 05 01 00 FF FF FF 00", 1, 5, 256, 65_535, 255)]
    [InlineData("01 06 FF FF 00 01 00 FF", 1, 6, 65_535, 1, 0)]
    [InlineData("01 09 00 00 00 FF 01 7F", 1, 9, 0, 255, 1)]
    [InlineData("FF FF 12 34 56 78 9A BC", 255, 255, 0x1234, 0x5678, 0x9a)]
    [InlineData("00 00 00 00 00 00 00 00", 0, 0, 0, 0, 0)]
    public void Parse_AnyEightBytes_AreTheFieldsOfTheSpecification(
        string bytes, int version, int type, int id, int contentLength, int paddingLength)
    {
        var header = RecordHeader.Parse(Bytes(bytes));

        Assert.Equal(version, header.Version);
        Assert.Equal(type, (int)header.Type);
        Assert.Equal(id, header.RequestId);
        Assert.Equal(contentLength, header.ContentLength);
        Assert.Equal(paddingLength, header.PaddingLength);
    }

    [Theory]
    [InlineData("01 01 00 01 00 08 00 00", 1, 1, 8, 0)]
    [InlineData("01 06 FF FE FF F8 00 00", 6, 65_534, 65_528, 0)]
    [InlineData("01 07 01 00 FF FF FF 00", 7, 256, 65_535, 255)]
    [InlineData("01 0B 00 00 00 08 03 00", 11, 0, 8, 3)]
    public void Write_Fields_AreTheBytesOfTheSpecification(
        string bytes, int type, int id, int contentLength, int paddingLength)
    {
        var destination = Enumerable.Repeat((byte)0xee, 10).ToArray();

        new RecordHeader(1, (RecordType)type, (ushort)id, contentLength, paddingLength).Write(destination);

        Assert.Equal(Bytes(bytes + " EE EE"), destination);
    }

    [Fact]
    public void Constants_Each_HasTheNumberOfTheSpecification()
    {
        Assert.Equal(
            "BeginRequest=1 AbortRequest=2 EndRequest=3 Params=4 Stdin=5 Stdout=6 Stderr=7 Data=8 GetValues=9 "
                + "GetValuesResult=10 UnknownType=11",
            string.Join(' ', Enum.GetValues<RecordType>().Select(static type => $"{type}={(int)type}")));
        Assert.Equal(
            "RequestComplete=0 CantMultiplexConnection=1 Overloaded=2 UnknownRole=3",
            string.Join(' ', Enum.GetValues<ProtocolStatus>().Select(static status => $"{status}={(int)status}")));
    }

    private static byte[] Bytes(string hex) => Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
}
