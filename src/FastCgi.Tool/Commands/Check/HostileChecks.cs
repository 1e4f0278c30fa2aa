using static FastCgi.Tool.Commands.Check.CheckContext;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Input that no web server sends. The server must not serve it, but must keep serving others.</summary>
internal static class HostileChecks
{
    private const int ManyConnections = 200;
    private const int ManyRequests = 2_000;

    public static IEnumerable<CheckCase> All =>
    [
        Survives("garbage", static _ => CreateNoise(4_000)),
        Survives("http", static _ => "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray()),
        Survives("tls", static _ => [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3, .. CreateNoise(200)]),
        new("params-cut-pair", context => NotServedAsync(context, [.. context.CreateParams(), 5, 100, .. "HTTP_"u8])),
        new("params-overflow", context => NotServedAsync(
            context, [.. context.CreateParams(), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8])),
        Survives("values-overflow",
            static _ => Record(RecordType.GetValues, 0, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8])),
        Survives("params-huge", static context
            => CreateRequest(context.CreateParams(extra: [("HTTP_X_HUGE", new string('v', 4_000_000))]))),
        Survives("params-endless", static _ => [.. Begin(),
            .. Stream(RecordType.Params, 1, Pairs(Enumerable.Repeat(("A", "b"), 1_000_000)))[..^8]]),
        Survives("begin-twice", static context => [.. Begin(), .. Record(RecordType.Params, 1, context.CreateParams()),
            .. context.CreateGet()]),
        Survives("begin-short", static _ => [.. Record(RecordType.BeginRequest, 1),
            .. Record(RecordType.BeginRequest, 1, [0, 1, 1, 0])]),
        Survives("begin-many", static _ => [.. Enumerable.Range(1, ManyRequests).SelectMany(static id => Begin(id))]),
        Survives("empty-records", static _ => Repeat(Record(RecordType.Stdin, 9), 50_000)),
        Survives("values-flood", static _ => Repeat(
            Record(RecordType.GetValues, 0, Pairs([(ManagementChecks.Multiplexes, "")])), 5_000)),
        new("cut", async context =>
        {
            var request = context.CreatePost(500);
            for (var length = 0; length < request.Length; length += 37)
            {
                using var peer = await context.ConnectAsync(request[..length]);
                peer.Reset();
            }

            return await context.SurviveAsync();
        }),
        new("reset-in-answer", async context =>
        {
            for (var i = 0; i < 20; i++)
            {
                using var peer = await context.ConnectAsync(context.CreateGet());
                if (await peer.ReadRecordAsync() is (_, CheckPeer.Silent))
                    throw Fail(CheckPeer.Silent);
                peer.Reset();
            }

            return await context.SurviveAsync();
        }),
        new("connections", async context =>
        {
            var peers = new List<CheckPeer>();
            string what;
            try
            {
                while (peers.Count < ManyConnections)
                    peers.Add(await context.ConnectAsync());
                if (!context.IsSerial && await context.IsAliveAsync())
                    return "";
                what = "others are served after they close";
            }
            catch (SocketException exception)
            {
                what = $"connection {peers.Count + 1}: {exception.Message}";
                context.StartClock();
            }
            finally
            {
                peers.ForEach(static peer => peer.Dispose());
            }

            throw await context.ChooseAsync(what);
        }),
        new("path-tricks", async context =>
        {
            foreach (var path in (string[])["/%0a", "/\n", "/a\0b", "/%00", "/%", "/%zz", "/../../etc/passwd",
                "/%2e%2e/%2e%2e/", "", "*", "http://", "//", new string('/', 10_000)])
            {
                var response = await context.AskAsync(
                    CreateRequest(context.CreateParams(extra: [("REQUEST_URI", path), ("PATH_INFO", path)])));
                if (response.IsSilent || response.Flaws.Length > 0 || !await context.IsAliveAsync())
                {
                    var shown = JsonSerializer.Serialize(path.Length > 40 ? path[..40] : path, ToolJson.Default.String);
                    throw Fail($"{shown}: {response.Describe()}");
                }
            }

            return "";
        }),
        new("content-length", async context =>
        {
            var seen = new List<string>();
            foreach (var length in (string[])["-1", "+5", "0x10", "5 ", "99999999999999999999", "abc", "5,5"])
            {
                var response = await context.AskAsync(
                    CreateRequest(context.CreateParams("POST", extra: [("CONTENT_LENGTH", length)]), "hello"u8));
                var what = $"'{length}': {response.Describe()}";
                if (response.IsSilent || response.Flaws.Length > 0)
                    throw Fail(what);

                seen.Add(what);
            }

            return await context.SurviveAsync(string.Join(", ", seen));
        }),
    ];

    private static CheckCase Survives(string id, Func<CheckContext, byte[]> create)
        => new(id, context => SurvivesAsync(context, create(context)));

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

    private static async Task<string> SurvivesAsync(CheckContext context, byte[] bytes)
    {
        using var peer = await context.ConnectAsync(bytes);
        var reaction = await peer.ReadRecordAsync(context.Quiet);
        var what = reaction switch
        {
            (null, null) => "closed",
            (null, CheckPeer.Silent) => "no reaction",
            (null, var problem) => problem,
            ({ Type: RecordType.EndRequest, Content.Length: 8 } end, _) => $"END_REQUEST, {end.ProtocolStatus}",
            ({ Type: RecordType.Stdout } output, _)
                => $"responded: {Encoding.Latin1.GetString(output.Content).Split('\r', '\n')[0]}",
            var (record, _) => RecordNames.Get(record.Type),
        };
        // Check while the hostile connection is open, unless the server serves one at a time.
        if (!context.IsSerial && await context.IsAliveAsync())
            return what;
        peer.Dispose();
        if (reaction == default)
            return await context.SurviveAsync(what);
        throw Choice($"{await context.SurviveAsync(what)}; others are served after the connection closes");
    }

    private static async Task<string> NotServedAsync(CheckContext context, byte[] parameters)
    {
        var response = await context.AskAsync(CreateRequest(parameters));
        await context.SurviveAsync(response.Describe());
        return context.IsServed(response)
            ? throw Fail($"served with {response.Status}, as if complete")
            : response.Describe();
    }
}
