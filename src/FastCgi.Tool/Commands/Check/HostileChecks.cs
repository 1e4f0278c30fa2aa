using static FastCgi.Tool.Commands.Check.CheckSteps;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Input that no web server sends. The server must not serve it, but must keep serving others.</summary>
internal static class HostileChecks
{
    private const string Source = "hostile";
    private const int ManyConnections = 200;

    // Two lengths of 2 GiB.
    private static readonly byte[] s_overflow =
        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8];

    private static readonly string[] s_paths =
        ["/%0a", "/\n", "/a\0b", "/%00", "/%", "/%zz", "/../../etc/passwd", "/%2e%2e/%2e%2e/", "", "*", "http://", "//",
        new('/', 10_000)];

    private static readonly string[] s_lengths = ["-1", "+5", "0x10", "5 ", "99999999999999999999", "abc", "5,5"];

    public static IReadOnlyList<Check> All { get; } =
    [
        new("garbage", Source, "Random bytes", _ => React(Noise(4_000))),
        new("http", Source, "An HTTP request on the FastCGI port",
            _ => React("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray())),
        new("tls", Source, "A TLS handshake on the FastCGI port",
            _ => React([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3, .. Noise(200)])),
        new("params-cut-pair", "3.4", "PARAMS that end within a pair are not treated as complete",
            to => Incomplete(to, [5, 100, .. "HTTP_"u8])),
        new("params-overflow", "3.4", "Lengths of 2 GiB each, whose sum overflows 32 bits (CVE-2025-23016)",
            to => Incomplete(to, s_overflow)),
        new("values-overflow", "3.4", "The same lengths in GET_VALUES",
            _ => React(Record(RecordType.GetValues, 0, s_overflow))),
        new("params-huge", Source, "PARAMS of 4 MB",
            to => React(CreateRequest(to.Params(extra: [("HTTP_X_HUGE", new string('v', 4_000_000))])))),
        new("begin-twice", Source, "BEGIN_REQUEST for an active id",
            to => React(Begin(), Record(RecordType.Params, 1, to.Params()), to.Get())),
        new("begin-short", Source, "BEGIN_REQUEST of 0 and of 4 bytes",
            _ => React(Record(RecordType.BeginRequest, 1), Record(RecordType.BeginRequest, 1, [0, 1, 1, 0]))),
        new("begin-many", Source, "2,000 requests on one connection that begin but never continue",
            _ => React([.. Enumerable.Range(1, 2_000).SelectMany(static id => Begin(id))])),
        new("empty-records", Source, "50,000 empty records for an inactive id",
            _ => React(Repeat(Record(RecordType.Stdin, 9), 50_000))),
        new("values-flood", Source, "5,000 GET_VALUES whose results are not read",
            _ => React(Repeat(Record(RecordType.GetValues, 0, Pairs([(Multiplexes, "")])), 5_000))),
        new("reset-in-answer", Source, "A reset as soon as the response begins",
            to => [.. ForEach(Enumerable.Range(1, 20), _ => [Send(to.Get()),
                FirstRecord(static (_, problem) => problem == CheckPeer.Silent ? throw Fail(problem) : null),
                Do(static run => run.Current!.Reset()), Close()]), Survive()]),
        new("connections", Source, "200 connections that send nothing and close", _ => [ConnectManyAsync]),
        new("path-tricks", Source, "Paths with newlines, NUL, escapes and dots (CVE-2019-11043)",
            to => ForEach(s_paths, path =>
            {
                var shown = JsonSerializer.Serialize(path.Length > 40 ? path[..40] : path, ToolJson.Default.String);
                return [Send(CreateRequest(to.Params(extra: [("REQUEST_URI", path), ("PATH_INFO", path)]))),
                    Named(shown, Response(static response => RequireReaction(response, "")), Survive())];
            })),
        new("content-length", Source, "A CONTENT_LENGTH that is not a number",
            to => [.. ForEach(s_lengths, length =>
                [Send(CreateRequest(to.Params("POST", extra: [("CONTENT_LENGTH", length)]), [.. "hello"u8])),
                Named($"'{length}'", Response(static response => RequireReaction(response, response.Describe()))),
                Close()]), Survive()]),
    ];

    private static Step[] Incomplete(CheckedServer to, byte[] end) =>
    [
        Send(CreateRequest([.. to.Params(), .. end])),
        NotServed(to, static status => $"served with {status}, as if complete"),
        Survive(),
    ];

    private static string RequireReaction(CheckResponse response, string detail)
        => response.Problem == CheckPeer.Silent || response.Flaws.Length > 0 ? throw Fail(response.Describe()) : detail;

    private static byte[] Repeat(byte[] record, int count)
        => [.. Enumerable.Repeat(record, count).SelectMany(static bytes => bytes)];

    private static byte[] Noise(int length)
    {
        var noise = new byte[length];
        new Random(length).NextBytes(noise);
        // A first byte that cannot be mistaken for version 1.
        noise[0] = 0x80;
        return noise;
    }

    private static async Task<string?> ConnectManyAsync(CheckRun run)
    {
        var what = "others are served after they close";
        var count = 0;
        try
        {
            for (; count < ManyConnections; count++)
                await run.ConnectAsync();
            if (!run.Server.IsSerial && await run.IsAliveAsync())
                return "";
        }
        catch (SocketException exception)
        {
            what = $"connection {count + 1}: {exception.Message}";
        }

        run.StartAgain();
        return await run.SurviveAsync(what);
    }
}
