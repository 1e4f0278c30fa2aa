namespace FastCgi.AspNetCore.UnitTests.Protocol;

/// <summary>
/// Gives a stream to a <see cref="RecordReader"/> in pieces and compares what it yields, piece by piece, with the
/// stream's records.
/// </summary>
internal sealed class RecordExpectation(RecordStream stream)
{
    /// <summary>Reads the stream with a new reader.</summary>
    /// <param name="ends">Where the pieces that are given to the reader end.</param>
    public void AssertReads(params ReadOnlySpan<int> ends)
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
}
