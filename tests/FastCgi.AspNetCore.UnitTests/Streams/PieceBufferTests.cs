namespace FastCgi.AspNetCore.UnitTests.Streams;

public sealed class PieceBufferTests
{
    private const int Claimed = 65_535;

    [Theory, Values(1, 1_000)]
    public void Pieces_OfALargeClaim_TakeMemoryAsTheyCome(int come)
    {
        var bytes = new byte[come];
        var content = new PieceBuffer();
        // The first use of code may allocate too.
        _ = new PieceBuffer().TryComplete(Piece(bytes, isStart: true, isEnd: false), Claimed, out _);
        var before = GC.GetAllocatedBytesForCurrentThread();

        var isComplete = content.TryComplete(Piece(bytes, isStart: true, isEnd: false), Claimed, out _);

        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, (4 * come) + 2_000);
        Assert.Equal((false, come), (isComplete, content.Length));
    }

    private static RecordPiece Piece(ReadOnlySpan<byte> content, bool isStart, bool isEnd)
        => new(new RecordHeader(1, RecordType.GetValues, 0, Claimed, 0), content, isStart, isEnd);
}
