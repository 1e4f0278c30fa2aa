using static FastCgi.AspNetCore.Testing.RecordBytes;

namespace FastCgi.AspNetCore.UnitTests.Protocol;

public sealed class NameValuePairReaderTests
{
    private const int LargestLength = int.MaxValue;

    [Fact]
    public void TryRead_LiteralStream_YieldsItsPairs()
    {
        // 11, 14, 41 and 44 of section 3.4, written out.
        var shortText = "abc"u8.ToArray();
        var longText = Content(128);
        byte[] stream =
        [
            3, 3, .. shortText, .. shortText,
            3, 0x80, 0, 0, 128, .. shortText, .. longText,
            0x80, 0, 0, 128, 3, .. longText, .. shortText,
            0x80, 0, 0, 128, 0x80, 0, 0, 128, .. longText, .. longText,
        ];

        AssertReads(stream, (shortText, shortText), (shortText, longText), (longText, shortText), (longText, longText));
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(127, 127)]
    [InlineData(128, 128)]
    [InlineData(255, 65_536)]
    [InlineData(1, 33_554_431)]
    public void TryRead_Lengths_YieldsPairAndItsSuccessor(int nameLength, int valueLength)
    {
        var (name, value) = (Content(nameLength), Content(valueLength));

        AssertReads([.. Pair(name, value), .. Pair("k", "v")], (name, value), ("k"u8.ToArray(), "v"u8.ToArray()));
    }

    [Theory, Values(0, 1, 127)]
    public void TryRead_ShortLengthInFourBytes_IsAccepted(int length)
    {
        var text = Content(length);

        AssertReads([.. Length(length, isLong: true), .. Length(length, isLong: true), .. text, .. text], (text, text));
        AssertReads([.. Length(length, isLong: true), .. Length(length), .. text, .. text], (text, text));
        AssertReads([.. Length(length), .. Length(length, isLong: true), .. text, .. text], (text, text));
    }

    [Theory]
    [InlineData(1, 0)]
    [InlineData(0, 1)]
    [InlineData(1_000, 1_000)]
    [InlineData(LargestLength, 0)]
    [InlineData(0, LargestLength)]
    [InlineData(LargestLength, LargestLength)]
    [InlineData(LargestLength, LargestLength - 1)]
    [InlineData(LargestLength - 2, LargestLength - 2)]
    [InlineData(LargestLength - 7, 0)]
    [InlineData(0x4000_0000, 0x4000_0000)]
    public void TryRead_LengthsBeyondTheStream_MalformedWithoutAllocation(int nameLength, int valueLength)
    {
        // Enough bytes for a sum that wrapped, but one too few for the pair.
        var there = (int)Math.Min((long)nameLength + valueLength - 1, 64);
        byte[] stream = [.. Pair("k", "v"), .. Length(nameLength), .. Length(valueLength), .. Content(there)];
        var before = GC.GetAllocatedBytesForCurrentThread();

        var reader = new NameValuePairReader(stream);
        var first = reader.TryRead(out _, out _);
        var second = reader.TryRead(out var name, out var value);
        var again = reader.TryRead(out _, out _);

        Assert.Equal(0, GC.GetAllocatedBytesForCurrentThread() - before);
        Assert.True(first);
        Assert.False(second || again);
        Assert.True(reader.IsMalformed);
        Assert.True(name.IsEmpty && value.IsEmpty);
        Assert.Equal(4, reader.Offset);
    }

    [Fact]
    public void TryRead_StreamCutAnywhere_YieldsTheWholePairsThenMalformed()
    {
        byte[][] pairs =
        [
            Pair("A", "1"), Pair("", ""), Pair("NAME", new string('v', 200)), Pair(new string('n', 130), "x"),
            Pair(new string('n', 128), new string('v', 128)),
        ];
        byte[] stream = [.. pairs.SelectMany(static pair => pair)];
        var ends = pairs.Select((_, i) => pairs.Take(i + 1).Sum(static pair => pair.Length)).ToList();

        for (var cut = 0; cut <= stream.Length; cut++)
        {
            var reader = new NameValuePairReader(stream.AsSpan(0, cut));
            var count = 0;
            while (reader.TryRead(out _, out _))
                count++;

            Assert.Equal(ends.Count(end => end <= cut), count);
            Assert.Equal(cut != 0 && !ends.Contains(cut), reader.IsMalformed);
        }
    }

    private static void AssertReads(byte[] stream, params (byte[] Name, byte[] Value)[] pairs)
    {
        var reader = new NameValuePairReader(stream);
        foreach (var (expectedName, expectedValue) in pairs)
        {
            Assert.True(reader.TryRead(out var name, out var value));
            Assert.True(name.SequenceEqual(expectedName));
            Assert.True(value.SequenceEqual(expectedValue));
        }

        Assert.False(reader.TryRead(out _, out _));
        Assert.False(reader.IsMalformed);
        Assert.Equal(stream.Length, reader.Offset);
    }
}
