using FastCgi.AspNetCore.Connections;

namespace FastCgi.AspNetCore.UnitTests.Connections;

public sealed class RecordContentTests
{
    private const int Claimed = 65_535;

    [Theory]
    [InlineData(1)]
    [InlineData(1_000)]
    public void Pieces_OfALargeClaim_TakeMemoryAsTheyCome(int come)
    {
        GC.Collect();
        var content = new RecordContent();
        var before = GC.GetAllocatedBytesForCurrentThread();

        Assert.False(content.TryComplete(Piece(new byte[come], isStart: true, isEnd: false), Claimed, out _));

        Assert.True(content.IsBegun);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, (4 * come) + 1_000);
        content.Return();
        Assert.False(content.IsBegun);
    }

    [Fact]
    public void Pieces_All_AreTheContent()
    {
        var expected = Enumerable.Range(0, Claimed).Select(static i => (byte)(i % 251)).ToArray();
        var content = new RecordContent();
        var start = 0;
        for (var size = 1; start < Claimed; size = (size * 2) % 5_000 + 1)
        {
            var piece = expected[start..Math.Min(start + size, Claimed)];
            var isEnd = start + piece.Length == Claimed;
            Assert.Equal(isEnd, content.TryComplete(Piece(piece, isStart: start == 0, isEnd), Claimed, out var whole));
            start += piece.Length;
            Assert.True(!isEnd || whole.SequenceEqual(expected));
        }

        content.Return();
    }

    [Fact]
    public void Pieces_OfTheNextRecord_BeginAnew()
    {
        var content = new RecordContent();
        for (byte i = 0; i < 3; i++)
        {
            Assert.False(content.TryComplete(Piece([i], isStart: true, isEnd: false), Claimed, out _));
            Assert.True(content.TryComplete(Piece([9], isStart: false, isEnd: true), Claimed, out var whole));
            Assert.True(whole.SequenceEqual((byte[])[i, 9]));
        }

        content.Return();
    }

    private static RecordPiece Piece(ReadOnlySpan<byte> content, bool isStart, bool isEnd)
        => new(new RecordHeader(1, RecordType.GetValues, 0, Claimed, 0), content, isStart, isEnd);
}
