namespace FastCgi.AspNetCore.UnitTests.Streams;

public sealed class PieceBufferTests
{
    private const int Claimed = 65_535;

    [Theory, Values(1, 1_000)]
    public void Pieces_OfALargeClaim_TakeMemoryAsTheyCome(int come)
    {
        GC.Collect();
        var content = new PieceBuffer();
        var before = GC.GetAllocatedBytesForCurrentThread();

        Assert.False(content.TryComplete(Piece(new byte[come], isStart: true, isEnd: false), Claimed, out _));

        Assert.Equal(come, content.Length);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, (4 * come) + 2_000);
    }

    private static RecordPiece Piece(ReadOnlySpan<byte> content, bool isStart, bool isEnd)
        => new(new RecordHeader(1, RecordType.GetValues, 0, Claimed, 0), content, isStart, isEnd);
}
