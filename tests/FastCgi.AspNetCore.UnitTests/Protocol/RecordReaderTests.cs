namespace FastCgi.AspNetCore.UnitTests.Protocol;

public sealed class RecordReaderTests
{
    private const byte OtherVersion = 2;

    public static TheoryData<string> StreamNames => [.. RecordStreams.All.Keys];

    [Theory]
    [MemberData(nameof(StreamNames))]
    public void Read_ValidStream_CutAnywhere_YieldsTheSameRecords(string name)
    {
        foreach (var stream in RecordStreams.All[name])
        {
            for (var cut = 0; cut <= stream.Bytes.Length; cut++)
                AssertReads(stream, cut, stream.Bytes.Length);
        }
    }

    [Fact]
    public void Read_ContentArrivesInPieces_EachIsYieldedAtOnce()
    {
        var reader = new RecordReader();
        ReadOnlySpan<byte> input = default;
        Assert.Equal(RecordReadResult.NeedMore, reader.Read(ref input, out _));

        input = [1, 5, 0, 1, 0, 3, 2, 0, (byte)'a'];

        Assert.Equal(RecordReadResult.Piece, reader.Read(ref input, out var piece));
        Assert.Equal("a"u8, piece.Content);
        Assert.True(piece is { IsStart: true, IsEnd: false, IsEmptyRecord: false });
        Assert.Equal(RecordReadResult.NeedMore, reader.Read(ref input, out _));

        input = "b"u8;
        Assert.Equal(RecordReadResult.Piece, reader.Read(ref input, out piece));
        Assert.Equal("b"u8, piece.Content);
        Assert.True(piece is { IsStart: false, IsEnd: false });

        input = [(byte)'c', 0xff];
        Assert.Equal(RecordReadResult.Piece, reader.Read(ref input, out piece));
        Assert.Equal("c"u8, piece.Content);
        Assert.True(piece is { IsStart: false, IsEnd: true, IsEmptyRecord: false });
        Assert.Equal(RecordReadResult.NeedMore, reader.Read(ref input, out _));
        Assert.True(input.IsEmpty);
    }

    [Theory]
    [InlineData(new byte[] { 1, 4, 0, 1, 0, 1, 255, 0, (byte)'x' }, false)]
    [InlineData(new byte[] { 1, 4, 0, 1, 0, 0, 255, 0 }, true)]
    public void Read_LastByteOrEmptyRecord_IsYieldedBeforeItsPaddingArrives(byte[] bytes, bool isEmpty)
    {
        var reader = new RecordReader();
        ReadOnlySpan<byte> input = bytes;

        Assert.Equal(RecordReadResult.Piece, reader.Read(ref input, out var piece));

        Assert.True(piece is { IsStart: true, IsEnd: true });
        Assert.Equal(isEmpty, piece.IsEmptyRecord);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    [InlineData('G')]
    [InlineData(0x16)]
    [InlineData(255)]
    public void Read_FirstByteIsNotTheVersion_ReportedAtOnceAndAgain(byte first)
    {
        var reader = new RecordReader();
        ReadOnlySpan<byte> input = [first];

        for (var call = 0; call < 3; call++)
        {
            Assert.Equal(RecordReadResult.UnsupportedVersion, reader.Read(ref input, out _));
            Assert.Equal(1, input.Length);
        }
    }

    [Theory]
    [InlineData(0, 0)]
    [InlineData(5, 0)]
    [InlineData(0, 3)]
    [InlineData(5, 255)]
    public void Read_VersionOfALaterRecordIsNotOne_ReportedAfterTheRecordsBefore(int contentLength, int padding)
    {
        byte[] bytes =
        [
            .. RecordBytes.Record(4, 1, RecordBytes.Content(contentLength), padding),
            .. RecordBytes.Record(4, 1, [], version: OtherVersion),
        ];
        for (var cut = 0; cut <= bytes.Length; cut++)
        {
            var reader = new RecordReader();
            ReadOnlySpan<byte> input = bytes.AsSpan(0, cut);
            var records = CountRecords(ref reader, ref input, out var result);
            if (input.IsEmpty)
            {
                input = bytes.AsSpan(cut);
                records += CountRecords(ref reader, ref input, out result);
            }

            Assert.Equal(1, records);
            Assert.Equal(RecordReadResult.UnsupportedVersion, result);
        }
    }

    /// <summary>
    /// Gives a stream to a reader in pieces, and compares what it yields with the stream's records.
    /// </summary>
    /// <param name="ends">Where the pieces end.</param>
    private static void AssertReads(RecordStream stream, params ReadOnlySpan<int> ends)
    {
        var reader = new RecordReader();
        var record = 0;
        var offset = 0;
        var start = 0;
        foreach (var end in ends)
        {
            ReadOnlySpan<byte> input = stream.Bytes.AsSpan(start, end - start);
            while (reader.Read(ref input, out var piece) == RecordReadResult.Piece)
            {
                AssertIsPartOf(stream.Records[record], piece, offset);
                offset += piece.Content.Length;
                if (!piece.IsEnd)
                    continue;

                Assert.Equal(stream.Records[record].Content.Length, offset);
                record++;
                offset = 0;
            }

            Assert.True(input.IsEmpty, "A valid stream was not read to its end.");
            start = end;
        }

        Assert.Equal(stream.Records.Length, record);
    }

    // Compared without xunit's boxing: this runs for every split of 64 KiB.
    private static void AssertIsPartOf(StreamRecord expected, RecordPiece piece, int offset)
    {
        var header = piece.Header;
        Assert.True(
            header.Version == 1 && (int)header.Type == expected.Type && header.RequestId == expected.Id
            && header.ContentLength == expected.Content.Length && header.PaddingLength == expected.Padding,
            "The header is not the record's.");
        Assert.True(piece.IsStart == (offset == 0), "Only the first piece is a start.");
        Assert.True(piece.Content.SequenceEqual(expected.Content.AsSpan(
            offset, piece.Content.Length)), "The content is not the record's.");
        Assert.True(!piece.Content.IsEmpty || expected.Content.Length == 0, "Only an empty record has an empty piece.");
    }

    private static int CountRecords(ref RecordReader reader, ref ReadOnlySpan<byte> input, out RecordReadResult result)
    {
        var records = 0;
        while ((result = reader.Read(ref input, out var piece)) == RecordReadResult.Piece)
            records += piece.IsEnd ? 1 : 0;
        return records;
    }
}
