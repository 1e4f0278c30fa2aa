namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>What becomes of a planned request, and what its application does.</summary>
internal enum PlannedKind
{
    /// <summary>The application answers at once; the body that comes is not read.</summary>
    AtOnce,

    /// <summary>The application reads the body, and answers then.</summary>
    WithBody,

    /// <summary>So too, but the web server aborts the request before the end of the body.</summary>
    Aborted,

    /// <summary>The web server aborts the request before the end of its params.</summary>
    AbortedEarly,

    UnknownRole,
}

/// <summary>A request of a valid stream.</summary>
internal sealed record PlannedRequest(int Id, PlannedKind Kind, bool KeepConnection, int BodyLength, bool HasContentLength, int PieceLength, int Padding)
{
    public string Uri => $"/{Kind}/{Id}?{BodyLength}";

    /// <summary>Its records, in order: BEGIN_REQUEST first.</summary>
    public List<byte[]> ToRecords()
    {
        var records = new List<byte[]> { RecordBytes.Begin(Id, Kind == PlannedKind.UnknownRole ? 77 : 1, KeepConnection) };
        (string Name, string Value)[] more = HasContentLength ? [("CONTENT_LENGTH", $"{BodyLength}")] : [];
        AddStream(records, RecordBytes.Params, RecordBytes.Pairs(RecordBytes.RequestParams("POST", Uri, more)));
        if (Kind == PlannedKind.AbortedEarly)
        {
            records.RemoveAt(records.Count - 1);
            records.Add(RecordBytes.Abort(Id));
            return records;
        }

        AddStream(records, RecordBytes.Stdin, Apps.Pattern(BodyLength));
        if (Kind == PlannedKind.Aborted)
            records[^1] = RecordBytes.Abort(Id);
        return records;
    }

    /// <summary>The body of the answer; <see langword="null"/> if nothing but END_REQUEST is sent.</summary>
    public string? ExpectedAnswer => Kind switch
    {
        PlannedKind.AtOnce => $"POST {Uri}",
        PlannedKind.WithBody => Apps.HashOf(Apps.Pattern(BodyLength)),
        _ => null,
    };

    private void AddStream(List<byte[]> records, byte type, byte[] content)
    {
        foreach (var piece in content.Chunk(PieceLength))
            records.Add(RecordBytes.Record(type, Id, piece, Padding));
        records.Add(RecordBytes.Record(type, Id, [], Padding));
    }
}

/// <summary>
/// A valid stream: rounds of requests whose records are mixed, with other records among them. A round begins when the one before it is
/// answered, as an id may be used again only then.
/// </summary>
internal sealed record StreamPlan(PlannedRequest[][] Rounds, int MixSeed, int CutSeed, int Questions)
{
    /// <summary>A round's bytes: the requests' records mixed, and questions of the web server between them.</summary>
    public byte[] ToBytes(int round)
    {
        var random = new FuzzRandom((ulong)MixSeed);
        var queues = Rounds[round].Select(static request => new Queue<byte[]>(request.ToRecords())).ToList();
        // A connection that is closed behind its last answer takes no request after that: all begin before one can end.
        var bytes = queues.SelectMany(static queue => queue.Dequeue()).ToList();
        foreach (var question in Enumerable.Range(0, Questions).Select(GetQuestion))
        {
            // Behind the last answer nobody is there to ask.
            if (Rounds[round].All(static request => request.KeepConnection))
                queues.Add(new Queue<byte[]>([question]));
            else
                bytes.AddRange(question);
        }

        while (queues.Count > 0)
        {
            var queue = queues[MixSeed == 0 ? 0 : random.Next(queues.Count)];
            bytes.AddRange(queue.Dequeue());
            if (queue.Count == 0)
                queues.Remove(queue);
        }

        return [.. bytes];
    }

    /// <summary>The bytes of a round as they are received.</summary>
    public IEnumerable<byte[]> ToPieces(int round)
    {
        var bytes = ToBytes(round);
        var random = new FuzzRandom((ulong)CutSeed);
        // A long stream in the smallest pieces takes seconds, and shows nothing that a short one does not.
        var mode = CutSeed == 0 ? 0 : bytes.Length > 10_000 ? 2 * random.Next(2) : random.Next(3);
        for (var at = 0; at < bytes.Length;)
        {
            var length = random.NextPiece(bytes.Length - at, mode);
            yield return bytes[at..(at + length)];
            at += length;
        }
    }

    /// <summary>Simpler plans, from the simplest on.</summary>
    public IEnumerable<StreamPlan> Shrink()
    {
        if (MixSeed != 0)
            yield return this with { MixSeed = 0 };
        if (CutSeed != 0)
            yield return this with { CutSeed = 0 };
        if (Questions > 0)
            yield return this with { Questions = 0 };
        for (var round = 0; round < Rounds.Length; round++)
        {
            if (Rounds.Length > 1)
                yield return this with { Rounds = [.. Rounds[..round], .. Rounds[(round + 1)..]] };
            for (var i = 0; i < Rounds[round].Length; i++)
            {
                if (Rounds[round].Length > 1)
                    yield return With(round, [.. Rounds[round][..i], .. Rounds[round][(i + 1)..]]);
                if (Rounds[round][i].BodyLength > 0)
                    yield return With(round, [.. Rounds[round][..i], Rounds[round][i] with { BodyLength = Rounds[round][i].BodyLength / 2 }, .. Rounds[round][(i + 1)..]]);
            }
        }
    }

    public override string ToString()
    {
        var text = new StringBuilder($"mixed by {MixSeed}, cut by {CutSeed}, {Questions} questions");
        for (var round = 0; round < Rounds.Length; round++)
            text.Append($"{Environment.NewLine}round {round}: {string.Join<PlannedRequest>("; ", Rounds[round])}");
        return text.ToString();
    }

    private static byte[] GetQuestion(int number)
        => number % 2 == 0 ? RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(("FCGI_MAX_REQS", "")), number) : RecordBytes.Record(99, 0);

    private StreamPlan With(int round, PlannedRequest[] requests) => this with { Rounds = [.. Rounds[..round], requests, .. Rounds[(round + 1)..]] };
}
