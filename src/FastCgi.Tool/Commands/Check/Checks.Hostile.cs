namespace FastCgi.Tool.Commands.Check;

/// <content>Input that no web server sends. The server must not serve it, but must keep serving others.</content>
internal sealed partial class Checks
{
    private const int ManyConnections = 200;
    private const int ManyRequests = 2_000;

    // Two lengths of 2 GiB.
    private static readonly byte[] s_overflow =
        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8];

    private IEnumerable<(string Id, Run Run)> Hostile =>
    [
        ("garbage", () => ReactAsync(CreateNoise(4_000))),
        ("http", () => ReactAsync("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray())),
        ("tls", () => ReactAsync([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3, .. CreateNoise(200)])),
        ("params-cut-pair", () => NotServedAsync([.. CreateParams(), 5, 100, .. "HTTP_"u8])),
        ("params-overflow", () => NotServedAsync([.. CreateParams(), .. s_overflow])),
        ("values-overflow", () => ReactAsync(Record(RecordType.GetValues, 0, s_overflow))),
        ("params-huge", () => ReactAsync(
            CreateRequest(CreateParams(extra: [("HTTP_X_HUGE", new string('v', 4_000_000))])))),
        ("begin-twice", () => ReactAsync(Begin(), Record(RecordType.Params, 1, CreateParams()), CreateGet())),
        ("begin-short", () => ReactAsync(
            Record(RecordType.BeginRequest, 1), Record(RecordType.BeginRequest, 1, [0, 1, 1, 0]))),
        ("begin-many", () => ReactAsync([.. Enumerable.Range(1, ManyRequests).SelectMany(static id => Begin(id))])),
        ("empty-records", () => ReactAsync(Repeat(Record(RecordType.Stdin, 9), 50_000))),
        ("values-flood", () => ReactAsync(
            Repeat(Record(RecordType.GetValues, 0, Pairs([(Multiplexes, "")])), 5_000))),
        ("reset-in-answer", async () =>
        {
            for (var i = 0; i < 20; i++)
            {
                var peer = await ConnectAsync(CreateGet());
                if (await peer.ReadRecordAsync() is (_, CheckPeer.Silent))
                    throw Fail(CheckPeer.Silent);
                peer.Reset();
            }

            return await SurviveAsync();
        }),
        ("connections", async () =>
        {
            var what = "others are served after they close";
            try
            {
                while (_peers.Count < ManyConnections)
                    await ConnectAsync();
                if (!_isSerial && await IsAliveAsync())
                    return "";
            }
            catch (SocketException exception)
            {
                what = $"connection {_peers.Count + 1}: {exception.Message}";
                _start = Stopwatch.GetTimestamp();
            }

            _peers.ForEach(static peer => peer.Dispose());
            return await SurviveAsync(what);
        }),
        ("path-tricks", async () =>
        {
            foreach (var target in (string[])["/%0a", "/\n", "/a\0b", "/%00", "/%", "/%zz", "/../../etc/passwd",
                "/%2e%2e/%2e%2e/", "", "*", "http://", "//", new string('/', 10_000)])
            {
                var response = await AskAsync(
                    CreateRequest(CreateParams(extra: [("REQUEST_URI", target), ("PATH_INFO", target)])));
                if (response.Problem == CheckPeer.Silent || response.Flaws.Length > 0 || !await IsAliveAsync())
                {
                    var shown =
                        JsonSerializer.Serialize(target.Length > 40 ? target[..40] : target, ToolJson.Default.String);
                    throw Fail($"{shown}: {response.Describe()}");
                }
            }

            return "";
        }),
        ("content-length", async () =>
        {
            var seen = new List<string>();
            foreach (var length in (string[])["-1", "+5", "0x10", "5 ", "99999999999999999999", "abc", "5,5"])
            {
                var response = await AskAsync(
                    CreateRequest(CreateParams("POST", extra: [("CONTENT_LENGTH", length)]), "hello"u8));
                seen.Add($"'{length}': {response.Describe()}");
                if (response.Problem == CheckPeer.Silent || response.Flaws.Length > 0)
                    throw Fail(seen[^1]);
            }

            return await SurviveAsync(string.Join(", ", seen));
        }),
    ];

    private static byte[] Repeat(byte[] record, int count)
        => [.. Enumerable.Repeat(record, count).SelectMany(static bytes => bytes)];

    private static byte[] CreateNoise(int length)
    {
        var noise = new byte[length];
        new Random(length).NextBytes(noise);
        // A first byte that cannot be mistaken for version 1.
        noise[0] = 0x80;
        return noise;
    }

    private async Task<string> ReactAsync(params byte[][] parts)
    {
        var peer = await ConnectAsync(parts);
        var what = await peer.ReadRecordAsync(_quiet) switch
        {
            (null, CheckPeer.Silent) => "no reaction",
            (null, var problem) => problem!,
            ({ Type: RecordType.EndRequest, Content.Length: 8 } end, _) => $"END_REQUEST, {end.ProtocolStatus}",
            ({ Type: RecordType.Stdout } output, _)
                => $"responded: {Encoding.Latin1.GetString(output.Content).Split('\r', '\n')[0]}",
            var (record, _) => RecordNames.Get(record.Type),
        };
        // Check while the hostile connection is open, unless the server serves one at a time.
        if (!_isSerial && await IsAliveAsync())
            return what;
        peer.Dispose();
        return $"{await SurviveAsync(what)}; others are served after the connection closes";
    }

    private async Task<string> NotServedAsync(byte[] parameters)
    {
        var response = await AskAsync(CreateRequest(parameters));
        await SurviveAsync(response.Describe());
        return IsServed(response)
            ? throw Fail($"served with {response.Status}, as if complete")
            : response.Describe();
    }
}
