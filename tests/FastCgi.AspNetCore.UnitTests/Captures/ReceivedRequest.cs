namespace FastCgi.AspNetCore.UnitTests.Captures;

/// <summary>A request from its records: all params, and the part of the body that arrived.</summary>
internal sealed class ReceivedRequest(int id)
{
    private readonly List<byte> _parameters = [];
    private readonly List<byte> _body = [];

    public int Id { get; } = id;

    public byte[] Parameters => [.. _parameters];

    public byte[] Body => [.. _body];

    /// <summary>
    /// Reads the bytes of a connection, in pieces of no particular size, and returns its requests in the order they
    /// began.
    /// </summary>
    public static IReadOnlyList<ReceivedRequest> ReadAll(byte[] bytes)
    {
        const int PieceSize = 1_447;
        var reader = new RecordReader();
        var requests = new List<ReceivedRequest>();
        for (var start = 0; start < bytes.Length; start += PieceSize)
        {
            ReadOnlySpan<byte> input = bytes.AsSpan(start, Math.Min(PieceSize, bytes.Length - start));
            while (reader.Read(ref input, out var piece) == RecordReadResult.Piece)
                Take(requests, piece);

            Assert.True(input.IsEmpty);
        }

        return requests;
    }

    private static void Take(List<ReceivedRequest> requests, RecordPiece piece)
    {
        var id = piece.Header.RequestId;
        if (piece.Header.Type == RecordType.BeginRequest && piece.IsStart)
            requests.Add(new ReceivedRequest(id));

        // A kept connection reuses ids: a record belongs to the latest request.
        var request = requests.FindLast(request => request.Id == id);
        if (piece.Header.Type == RecordType.Params)
            request!._parameters.AddRange(piece.Content);
        else if (piece.Header.Type == RecordType.Stdin)
            request!._body.AddRange(piece.Content);
    }
}
