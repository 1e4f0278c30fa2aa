namespace FastCgi.AspNetCore.UnitTests.Protocol;

/// <summary>
/// Valid streams, damaged at random but the same in every run: the readers must take any bytes, in any pieces, without an
/// exception and without standing still, and must agree with the plainest reader of the same bytes that could be written.
/// </summary>
public sealed class MutationTests
{
    private const int Rounds = 3_000;

    private static readonly byte[][] s_recordSeeds =
        [.. RecordStreams.All.Values.Select(static streams => streams[^1].Bytes).Where(static bytes => bytes.Length < 20_000)];

    private static readonly byte[][] s_pairSeeds =
    [
        SpecificationBytes.Pairs(("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/a%20b?c=d"), ("EMPTY", ""), ("", "nameless")),
        SpecificationBytes.Pairs((new string('N', 200), "short"), ("short", new string('V', 300)), (new string('N', 128), new string('V', 128))),
        [.. SpecificationBytes.LongLength(int.MaxValue), .. SpecificationBytes.LongLength(int.MaxValue), 1, 2, 3],
        [],
    ];

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void RecordReader_DamagedStream_ReadsAsThePlainReaderDoes(int seed)
    {
        var random = new Random(seed);
        for (var round = 0; round < Rounds; round++)
        {
            var bytes = Damage(s_recordSeeds[random.Next(s_recordSeeds.Length)], random);
            var (records, isUnsupported) = ReadInPieces(bytes, random);

            Assert.Equal(ReadPlainly(bytes, out var isPlainlyUnsupported), records);
            Assert.Equal(isPlainlyUnsupported, isUnsupported);
        }
    }

    [Theory]
    [InlineData(4)]
    [InlineData(5)]
    public void NameValuePairReader_DamagedStream_ReadsAsThePlainReaderDoes(int seed)
    {
        var random = new Random(seed);
        for (var round = 0; round < Rounds; round++)
        {
            var bytes = Damage(s_pairSeeds[random.Next(s_pairSeeds.Length)], random);
            var pairs = new List<string>();
            var reader = new NameValuePairReader(bytes);
            while (reader.TryRead(out var name, out var value))
            {
                pairs.Add($"{Convert.ToHexString(name)}={Convert.ToHexString(value)}");
                Assert.InRange(pairs.Count, 1, bytes.Length / 2);
            }

            Assert.Equal(ReadPairsPlainly(bytes, out var isPlainlyMalformed), pairs);
            Assert.Equal(isPlainlyMalformed, reader.IsMalformed);
        }
    }

    private static byte[] Damage(byte[] seed, Random random)
    {
        var bytes = seed.ToList();
        for (var damages = random.Next(5); damages > 0; damages--)
        {
            var at = random.Next(bytes.Count + 1);
            switch (random.Next(6))
            {
                case 0 when at < bytes.Count:
                    bytes[at] = (byte)random.Next(256);
                    break;
                case 1 when at < bytes.Count:
                    bytes[at] ^= (byte)(1 << random.Next(8));
                    break;
                case 2:
                    bytes.RemoveRange(at, Math.Min(random.Next(12), bytes.Count - at));
                    break;
                case 3:
                    bytes.InsertRange(at, Enumerable.Repeat(random.Next(2) == 0 ? (byte)1 : (byte)0xff, random.Next(10)));
                    break;
                case 4:
                    bytes.RemoveRange(at, bytes.Count - at);
                    break;
                case 5:
                    bytes.InsertRange(at, bytes.Skip(random.Next(bytes.Count + 1)).Take(random.Next(40)).ToList());
                    break;
            }
        }

        return [.. bytes];
    }

    private static (List<string> Records, bool IsUnsupported) ReadInPieces(byte[] bytes, Random random)
    {
        var reader = new RecordReader();
        var records = new List<string>();
        var content = new List<byte>();
        for (var start = 0; start < bytes.Length;)
        {
            var end = Math.Min(start + 1 + random.Next(random.Next(2) == 0 ? 9 : 300), bytes.Length);
            ReadOnlySpan<byte> input = bytes.AsSpan(start, end - start);
            while (true)
            {
                var before = input.Length;
                var result = reader.Read(ref input, out var piece);
                if (result == RecordReadResult.UnsupportedVersion)
                    return (records, true);
                if (result == RecordReadResult.NeedMore)
                    break;

                Assert.True(input.Length < before, "A piece was yielded without a byte taken.");
                content.AddRange(piece.Content);
                if (!piece.IsEnd)
                    continue;

                records.Add(Describe((int)piece.Header.Type, piece.Header.RequestId, [.. content]));
                content.Clear();
            }

            Assert.True(input.IsEmpty, "More bytes were asked for before those given were taken.");
            start = end;
        }

        return (records, false);
    }

    /// <summary>The records whose content is whole, and whether a record of another version stopped the reading.</summary>
    private static List<string> ReadPlainly(byte[] bytes, out bool isUnsupported)
    {
        var records = new List<string>();
        isUnsupported = false;
        for (var at = 0; at < bytes.Length;)
        {
            isUnsupported = bytes[at] != 1;
            if (isUnsupported || at + 8 > bytes.Length)
                break;

            var contentLength = (bytes[at + 4] * 256) + bytes[at + 5];
            if (at + 8 + contentLength > bytes.Length)
                break;

            records.Add(Describe(bytes[at + 1], (bytes[at + 2] * 256) + bytes[at + 3], bytes[(at + 8)..(at + 8 + contentLength)]));
            at += 8 + contentLength + bytes[at + 6];
        }

        return records;
    }

    private static List<string> ReadPairsPlainly(byte[] bytes, out bool isMalformed)
    {
        var pairs = new List<string>();
        isMalformed = false;
        for (var at = 0; at < bytes.Length;)
        {
            var next = at;
            var nameLength = ReadLengthPlainly(bytes, ref next);
            var valueLength = ReadLengthPlainly(bytes, ref next);
            isMalformed = nameLength < 0 || valueLength < 0 || next + nameLength + valueLength > bytes.Length;
            if (isMalformed)
                break;

            at = next + (int)nameLength;
            pairs.Add($"{Convert.ToHexString(bytes[next..at])}={Convert.ToHexString(bytes[at..(at + (int)valueLength)])}");
            at += (int)valueLength;
        }

        return pairs;
    }

    private static long ReadLengthPlainly(byte[] bytes, ref int at)
    {
        if (at >= bytes.Length)
            return -1;
        if (bytes[at] < 128)
            return bytes[at++];
        if (at + 4 > bytes.Length)
            return -1;

        at += 4;
        return ((bytes[at - 4] - 128) * 16_777_216L) + (bytes[at - 3] * 65_536) + (bytes[at - 2] * 256) + bytes[at - 1];
    }

    private static string Describe(int type, int id, byte[] content) => $"{type} {id} {Convert.ToHexString(content)}";
}
