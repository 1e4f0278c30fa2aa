using static FastCgi.AspNetCore.Testing.RecordBytes;

namespace FastCgi.AspNetCore.UnitTests.Protocol;

/// <summary>
/// Valid streams of records, and what is in them: some under one name, to keep each short, for they are cut at every
/// byte.
/// </summary>
internal static class RecordStreams
{
    public static IReadOnlyDictionary<string, RecordStream[]> All { get; } = new Dictionary<string, RecordStream[]>
    {
        ["one empty record"] = Of([new(4, 1, [])]),
        ["one byte"] = Of([new(5, 1, [7])]),
        ["eight bytes"] = Of([new(1, 1, [0, 1, 0, 0, 0, 0, 0, 0])]),
        ["the largest content"] = Of([new(5, 1, Content(65_535))]),
        ["the largest record"] = Of([new(6, 65_535, Content(65_535), Padding: 255, PaddingByte: 1), new(5, 1, [9])]),
        ["an empty record with padding"] = Of([new(5, 1, [], Padding: 255), new(5, 1, [], Padding: 1), new(5, 1, [1])]),
        ["padding that looks like a record"] = Of([new(5, 1, [1, 2], Padding: 16, PaddingByte: 1), new(5, 2, [3])]),
        ["padding of every length"] = OfEveryByte(
            static padding => [new(5, 1, [padding], padding, PaddingByte: 0xff), new(5, 1, [1])]),
        ["reserved byte of every value"] = OfEveryByte(
            static reserved => [new(4, 1, [1, 2, 3], Reserved: reserved), new(4, 1, [])]),
        ["type of every value"] = OfEveryByte(
            static type => [new(type, type * 257, Content(type % 5)), new(type, 1, [])]),
        ["a request in one segment"] = Of(
        [
            new(1, 1, [0, 1, 1, 0, 0, 0, 0, 0]),
            new(4, 1, Pairs(("REQUEST_METHOD", "POST"), ("CONTENT_LENGTH", "5")), Padding: 5),
            new(4, 1, []),
            new(5, 1, "hello"u8.ToArray(), Padding: 3),
            new(5, 1, []),
        ]),
        ["interleaved requests"] = Of(
        [
            new(1, 1, [0, 1, 1, 0, 0, 0, 0, 0]),
            new(1, 3, [0, 1, 1, 0, 0, 0, 0, 0]),
            new(4, 1, Content(20)),
            new(4, 3, Content(30)),
            new(9, 0, Pairs(("FCGI_MAX_REQS", ""), ("FCGI_MPXS_CONNS", ""))),
            new(4, 3, []),
            new(2, 1, []),
            new(5, 3, Content(300)),
            new(5, 3, []),
        ]),
    };

    private static RecordStream[] OfEveryByte(Func<byte, StreamRecord[]> records)
        => [.. Enumerable.Range(0, 256).SelectMany(value => Of(records((byte)value)))];

    private static RecordStream[] Of(StreamRecord[] records)
        => [new(records, [.. records.SelectMany(
            static r
            => Record(r.Type, r.Id, r.Content, r.Padding, reserved: r.Reserved, paddingByte: r.PaddingByte))])];
}

internal sealed record StreamRecord(
    byte Type, int Id, byte[] Content, int Padding = 0, byte Reserved = 0, byte PaddingByte = 0);

internal sealed record RecordStream(StreamRecord[] Records, byte[] Bytes);
