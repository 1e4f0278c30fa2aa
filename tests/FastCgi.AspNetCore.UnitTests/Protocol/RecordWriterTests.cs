namespace FastCgi.AspNetCore.UnitTests.Protocol;

public sealed class RecordWriterTests
{
    private readonly byte[] _destination = Enumerable.Repeat((byte)0xee, 20).ToArray();

    // appStatus B3 B2 B1 B0, protocolStatus, three reserved (section 5.5).
    [Theory]
    [InlineData(1, 0u, ProtocolStatus.RequestComplete, new byte[] { 1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 })]
    [InlineData(
        258, 1u, ProtocolStatus.CantMultiplexConnection, new byte[] { 1, 3, 1, 2, 0, 8, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0 })]
    [InlineData(
        65_535,
        0xdeadbeef,
        ProtocolStatus.Overloaded,
        new byte[] { 1, 3, 0xff, 0xff, 0, 8, 0, 0, 0xde, 0xad, 0xbe, 0xef, 2, 0, 0, 0 })]
    [InlineData(
        3,
        0xffffffff,
        ProtocolStatus.UnknownRole,
        new byte[] { 1, 3, 0, 3, 0, 8, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0 })]
    internal void WriteEndRequest_Any_SixteenBytes(
        int id, uint appStatus, ProtocolStatus protocolStatus, byte[] expected)
    {
        RecordWriter.WriteEndRequest(_destination, (ushort)id, appStatus, protocolStatus);

        // These bytes and none after them.
        Assert.Equal([.. expected, 0xee, 0xee, 0xee, 0xee], _destination);
        Assert.Equal(16, RecordWriter.FixedRecordLength);
    }
}
