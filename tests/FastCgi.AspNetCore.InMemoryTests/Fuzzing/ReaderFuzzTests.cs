using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>
/// The readers of records and of name-value pairs alone, with damaged streams in any pieces: they find what the plainest reader of the
/// whole finds, take every byte, and never go on behind the end.
/// </summary>
[Trait("Category", "Fuzzing")]
public sealed class ReaderFuzzTests(ITestOutputHelper output)
{
    private const int MaxLength = 2_048;

    [Fact]
    public void Readers_DamagedStreams_ReadAsThePlainReaderDoes()
    {
        var executions = FuzzSettings.Choose(200_000, 10_000_000);
        var seeds = FuzzCorpus.All.Where(static bytes => bytes.Length <= MaxLength / 2).ToList();
        var feedback = new StateFeedback(seeds);
        var mutator = new Mutator(MaxLength);
        var watch = Stopwatch.StartNew();
        for (var i = 0; i < executions; i++)
        {
            var random = new FuzzRandom(FuzzSettings.Seed + (ulong)i);
            var input = mutator.Mutate(feedback.Choose(ref random), seeds[random.Next(seeds.Count)], ref random);
            var piecesSeed = random.Next();
            if (ReadInPieces(input, piecesSeed, feedback) != ReadPlainly(input))
                Assert.Fail($"Seed {FuzzSettings.Seed}, execution {i}, pieces {piecesSeed}: {Convert.ToHexString(input)}");
            feedback.End(input, ref random);
        }

        output.WriteLine($"{executions} executions, {executions / watch.Elapsed.TotalSeconds:F0} a second, {feedback.StateCount} states, {feedback.InputCount} inputs, {CodeCoverage.Count} lines and branches counted, seed {FuzzSettings.Seed}.");
    }

    /// <returns>A hash of everything that was read.</returns>
    private static ulong ReadInPieces(ReadOnlySpan<byte> bytes, ulong seed, StateFeedback feedback)
    {
        var random = new FuzzRandom(seed);
        var mode = random.Next(3);
        var reader = new RecordReader();
        var hash = 1UL;
        var previous = 0UL;
        while (!bytes.IsEmpty)
        {
            var input = bytes[..random.NextPiece(bytes.Length, mode)];
            bytes = bytes[input.Length..];
            while (true)
            {
                var before = input.Length;
                var result = reader.Read(ref input, out var piece);
                var state = (((ulong)result * 2 + (piece.IsStart ? 1UL : 0)) * 2 + (piece.IsEnd ? 1UL : 0)) * 16 + Math.Min((ulong)piece.Header.Type, 12);
                feedback.Visit((previous * 1_024) + state);
                previous = state;
                if (result == RecordReadResult.UnsupportedVersion)
                    return Mix(hash, 0xBAD);
                if (result == RecordReadResult.NeedMore)
                    break;

                Assert.True(input.Length < before || piece.IsEmptyRecord, "A piece was yielded without a byte taken.");
                hash = MixPiece(hash, piece.Content);
                if (piece.IsEnd)
                    hash = Mix(Mix(hash, (ulong)piece.Header.Type), piece.Header.RequestId);
                if (piece.IsStart && piece.IsEnd)
                    CheckPairs(piece.Content, feedback);
            }

            Assert.True(input.IsEmpty, "More bytes were asked for before those given were taken.");
        }

        return hash;
    }

    private static ulong ReadPlainly(ReadOnlySpan<byte> bytes)
    {
        var hash = 1UL;
        for (var at = 0; at < bytes.Length;)
        {
            if (bytes[at] != 1)
                return Mix(hash, 0xBAD);
            if (at + 8 > bytes.Length)
                break;

            var length = (bytes[at + 4] * 256) + bytes[at + 5];
            var content = bytes.Slice(at + 8, Math.Min(length, bytes.Length - at - 8));
            hash = MixPiece(hash, content);
            if (content.Length < length)
                break;

            hash = Mix(Mix(hash, bytes[at + 1]), (ulong)((bytes[at + 2] * 256) + bytes[at + 3]));
            at += 8 + length + bytes[at + 6];
        }

        return hash;
    }

    /// <summary>Fails if the pairs are not those of the plain reader.</summary>
    private static void CheckPairs(ReadOnlySpan<byte> content, StateFeedback feedback)
    {
        var reader = new NameValuePairReader(content);
        var hash = 1UL;
        var count = 0UL;
        while (reader.TryRead(out var name, out var value))
        {
            hash = Mix(MixPiece(Mix(MixPiece(hash, name), (ulong)name.Length), value), (ulong)value.Length);
            count++;
        }

        feedback.Visit(0x8000_0000 + (Math.Min(count, 64) * 2) + (reader.IsMalformed ? 1UL : 0));
        hash = reader.IsMalformed ? Mix(hash, 0xBAD) : hash;
        if (ReadPairsPlainly(content) != hash)
            Assert.Fail($"Seed {FuzzSettings.Seed}: {Convert.ToHexString(content)} is read otherwise.");
    }

    private static ulong ReadPairsPlainly(ReadOnlySpan<byte> content)
    {
        var hash = 1UL;
        for (var at = 0; at < content.Length;)
        {
            var next = at;
            var nameLength = ReadLengthPlainly(content, ref next);
            var valueLength = nameLength < 0 ? -1 : ReadLengthPlainly(content, ref next);
            if (valueLength < 0 || next + nameLength + valueLength > content.Length)
                return Mix(hash, 0xBAD);

            hash = Mix(MixPiece(hash, content.Slice(next, (int)nameLength)), (ulong)nameLength);
            hash = Mix(MixPiece(hash, content.Slice(next + (int)nameLength, (int)valueLength)), (ulong)valueLength);
            at = next + (int)nameLength + (int)valueLength;
        }

        return hash;
    }

    private static long ReadLengthPlainly(ReadOnlySpan<byte> content, ref int at)
    {
        if (at >= content.Length)
            return -1;
        if (content[at] < 128)
            return content[at++];
        if (at + 4 > content.Length)
            return -1;

        at += 4;
        return ((content[at - 4] - 128) * 16_777_216L) + (content[at - 3] * 65_536) + (content[at - 2] * 256) + content[at - 1];
    }

    private static ulong MixPiece(ulong hash, ReadOnlySpan<byte> piece)
    {
        foreach (var b in piece)
            hash = (hash ^ b) * 0x100_0000_01B3;
        return hash;
    }

    private static ulong Mix(ulong hash, ulong value) => (hash ^ value ^ 0x5555_0000) * 0x100_0000_01B3;
}
