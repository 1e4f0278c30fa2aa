using FastCgi.AspNetCore.InMemoryTests.Replay;

namespace FastCgi.AspNetCore.InMemoryTests.Fuzzing;

/// <summary>The seeds of the fuzzers: bytes of real web servers, and bytes that broke FastCGI servers.</summary>
internal static class FuzzCorpus
{
    // The mutations of a long upload are those of a short one, and cost more.
    private const int MaxCaptureLength = 6_000;

    /// <summary>Inputs that broke, or could have broken, a FastCGI server, ours or another.</summary>
    public static IReadOnlyList<(string Name, byte[] Bytes)> PastFailures { get; } =
    [
        ("lengths whose sum is more than 32 bits, CVE-2025-23016", Request(
            1, [.. RecordBytes.Length(int.MaxValue, true), .. RecordBytes.Length(int.MaxValue, true), 1, 2])),
        ("a pair that ends in its length", Request(1, [3, 0x80, 0])),
        ("a pair without a name", Request(1, RecordBytes.Pairs(("", "x")))),
        ("BEGIN_REQUEST of seven bytes", RecordBytes.Record(RecordBytes.BeginRequest, 1, [0, 1, 1, 0, 0, 0, 0])),
        ("BEGIN_REQUEST of nine bytes", RecordBytes.Record(RecordBytes.BeginRequest, 1, [0, 1, 1, 0, 0, 0, 0, 0, 0])),
        ("BEGIN_REQUEST that is cut, with a buffer that waits for the rest", RecordBytes.Begin()[..12]),
        ("an id twice", [.. RecordBytes.Begin(), .. RecordBytes.Begin()]),
        ("a request with the id 0", [.. RecordBytes.Begin(0), .. RecordBytes.ParamsStream(0)]),
        ("STDIN before the end of the params", [.. RecordBytes.Begin(), .. RecordBytes.Record(
            RecordBytes.Stdin, 1, [1])]),
        ("an abort in the receive that makes the request ready", [.. RecordBytes.Get(), .. RecordBytes.Abort()]),
        ("an abort before the params", [.. RecordBytes.Begin(), .. RecordBytes.Abort(), .. RecordBytes.Get()]),
        ("an abort that closes the connection", [.. RecordBytes.Begin(
            keepConnection: false), .. RecordBytes.Abort(), .. RecordBytes.Get()]),
        ("requests that are begun and aborted, CVE-2023-44487", [.. Enumerable.Range(1, 120).SelectMany(
            static id => (byte[])[.. RecordBytes.Get(id), .. RecordBytes.Abort(id)])]),
        ("more requests than a connection takes", [.. Enumerable.Range(1, 205).SelectMany(
            static id => RecordBytes.Begin(id))]),
        ("a request after the last one", [.. RecordBytes.Get(keepConnection: false), .. RecordBytes.Get(2)]),
        ("a role that nobody knows, and the last request", [.. RecordBytes.Begin(
            1, role: 9, keepConnection: false), .. RecordBytes.Get(2)]),
        ("GET_VALUES with a name twice", RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(
            ("FCGI_MAX_REQS", ""), ("FCGI_MAX_REQS", ""), ("FCGI_MPXS_CONNS", "")))),
        ("GET_VALUES that is no list", RecordBytes.Record(RecordBytes.GetValues, 0, [200])),
        ("a management record of an unknown type", RecordBytes.Record(200, 0, [1, 2, 3], padding: 5)),
        ("records that only a server sends", [.. RecordBytes.Record(RecordBytes.Stdout, 1, [1]), .. RecordBytes.Record(
            RecordBytes.EndRequest, 1, new byte[8]), .. RecordBytes.Get()]),
        ("two lengths of the body", [.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams(
            "POST", "/", ("CONTENT_LENGTH", "1"), ("CONTENT_LENGTH", "2"))), .. RecordBytes.StdinStream(1, [1, 2])]),
        ("a body that is shorter than its length", [.. RecordBytes.PostHead(9), .. RecordBytes.StdinStream(1, [1, 2])]),
        ("HTTP", Encoding.ASCII.GetBytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n")),
        ("HTTP after GET_VALUES", [.. RecordBytes.Record(RecordBytes.GetValues, 0), .. "POST / HTTP/1.1\r\n"u8]),
        ("HTTP after the padding of a record", [.. RecordBytes.Record(
            RecordBytes.GetValues, 0, padding: 9), .. "GET / HTTP/1.1\r\n"u8]),
        ("another version after padding that looks like HTTP", [.. RecordBytes.Record(
            RecordBytes.GetValues, 0), 1, 200, 0, 0, 0, 0, 1, 0, (byte)'G', 2]),
        ("TLS", [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]),
        ("another version", [.. RecordBytes.Get(), .. RecordBytes.Record(
            RecordBytes.BeginRequest, 2, [0, 1, 1, 0, 0, 0, 0, 0], version: 2)]),
    ];

    /// <summary>All inputs: those above, plain ones of every kind, and captures.</summary>
    public static IReadOnlyList<byte[]> All { get; } =
    [
        .. PastFailures.Select(static failure => failure.Bytes),
        RecordBytes.Get(),
        RecordBytes.Get(keepConnection: false),
        RecordBytes.Post(1, "/body", Apps.Pattern(300)),
        [.. RecordBytes.Begin(1), .. RecordBytes.Begin(2), .. RecordBytes.ParamsStream(
            2, RecordBytes.RequestParams()), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams())],
        .. CaptureLibrary.All.Select(static capture => capture.Bytes).Where(
            static bytes => bytes.Length is > 0 and <= MaxCaptureLength),
    ];

    private static byte[] Request(int id, byte[] pairs)
        => [.. RecordBytes.Begin(id), .. RecordBytes.Record(RecordBytes.Params, id, pairs), .. RecordBytes.Record(
            RecordBytes.Params, id), .. RecordBytes.Record(RecordBytes.Stdin, id)];
}
