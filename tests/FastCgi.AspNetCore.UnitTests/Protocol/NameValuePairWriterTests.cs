namespace FastCgi.AspNetCore.UnitTests.Protocol;

public sealed class NameValuePairWriterTests
{
    [Fact]
    public void Write_GetValuesResult_BytesOfTheSpecification()
        => Assert.Equal(
            [15, 1, .. "FCGI_MPXS_CONNS"u8, (byte)'1'], Write("FCGI_MPXS_CONNS"u8.ToArray(), "1"u8.ToArray()));

    [Theory]
    [InlineData(0, 0, new byte[] { 0, 0 })]
    [InlineData(127, 127, new byte[] { 127, 127 })]
    [InlineData(127, 128, new byte[] { 127, 0x80, 0, 0, 128 })]
    [InlineData(128, 127, new byte[] { 0x80, 0, 0, 128, 127 })]
    [InlineData(128, 128, new byte[] { 0x80, 0, 0, 128, 0x80, 0, 0, 128 })]
    [InlineData(0, 1_000, new byte[] { 0, 0x80, 0, 3, 0xe8 })]
    [InlineData(65_536, 0, new byte[] { 0x80, 1, 0, 0, 0 })]
    [InlineData(1, 16_909_060, new byte[] { 1, 0x81, 2, 3, 4 })]
    public void Write_Lengths_ShortestForm(int nameLength, int valueLength, byte[] lengths)
    {
        var (name, value) = (RecordBytes.Content(nameLength), RecordBytes.Content(valueLength));

        var written = Write(name, value);

        Assert.Equal(lengths, written[..lengths.Length]);
        Assert.True(written.AsSpan(lengths.Length, nameLength).SequenceEqual(name));
        Assert.True(written.AsSpan(lengths.Length + nameLength).SequenceEqual(value));
    }

    [Fact]
    public void GetLength_LargestLength_DoesNotWrap()
        => Assert.Equal(int.MaxValue, NameValuePairWriter.GetLength(0, int.MaxValue - 5));

    private static byte[] Write(byte[] name, byte[] value)
    {
        var destination = new byte[name.Length + value.Length + 9];
        var written = NameValuePairWriter.Write(destination, name, value);

        Assert.Equal(written, NameValuePairWriter.GetLength(name.Length, value.Length));
        return destination[..written];
    }
}
