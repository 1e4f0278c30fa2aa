using static FastCgi.Tool.Commands.Check.CheckContext;
using static FastCgi.Tool.Commands.Check.CheckRecords;

namespace FastCgi.Tool.Commands.Check;

/// <summary>Input that no web server sends. The server must not serve it as a request, and must keep serving others.</summary>
internal static class HostileChecks
{
    private const int ManyConnections = 200;
    private const int ManyRequests = 2_000;
    private const string Source = "hostile";

    public static IEnumerable<CheckCase> All =>
    [
        Survives("garbage", "Random bytes", static _ => CreateNoise(4_000)),
        Survives("http", "An HTTP request on the FastCGI port", static _ => "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray()),
        Survives("tls", "A TLS handshake on the FastCGI port", static _ => [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3, .. CreateNoise(200)]),
        new("params-cut-pair", "PARAMS that end within a pair are not served as if they were whole", "3.4",
            context => NotServedAsync(context, [.. context.CreateParams(), 5, 100, .. "HTTP_"u8])),
        new("params-overflow", "Lengths of 2 GiB each, whose sum wraps 32 bits (CVE-2025-23016)", "3.4",
            context => NotServedAsync(context, [.. context.CreateParams(), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8])),
        Survives("values-overflow", "The same in GET_VALUES",
            static _ => Record(RecordType.GetValues, 0, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8]), "3.4"),
        Survives("params-huge", "PARAMS of 4 MB",
            static context => CreateRequest(Pairs(context.GetParams(extra: [("HTTP_X_HUGE", new string('v', 4_000_000))])))),
        Survives("params-endless", "PARAMS without end, 4 MB of small pairs",
            static _ => [.. Begin(), .. Stream(RecordType.Params, 1, Pairs(Enumerable.Repeat(("A", "b"), 1_000_000)))[..^8]]),
        Survives("begin-twice", "BEGIN_REQUEST for an id that is active",
            static context => [.. Begin(), .. Record(RecordType.Params, 1, context.CreateParams()), .. context.CreateGet()]),
        Survives("begin-short", "BEGIN_REQUEST of 0 and of 4 bytes",
            static _ => [.. Record(RecordType.BeginRequest, 1), .. Record(RecordType.BeginRequest, 1, [0, 1, 1, 0])]),
        Survives("begin-many", $"{ManyRequests} requests of one connection that are begun and go no further",
            static _ => [.. Enumerable.Range(1, ManyRequests).SelectMany(static id => Begin(id))]),
        Survives("empty-records", "50,000 empty records for an id that is not active", static _ => Repeat(Record(RecordType.Stdin, 9), 50_000)),
        Survives("values-flood", "5,000 GET_VALUES whose answers are not read",
            static _ => Repeat(Record(RecordType.GetValues, 0, Pairs([(ManagementChecks.Multiplexes, "")])), 5_000)),
        new("cut", "A request that is cut at every 37th byte, with a reset", Source, CutAsync),
        new("reset-in-answer", "A reset as soon as the answer begins", Source, ResetInAnswerAsync),
        new("connections", $"{ManyConnections} connections that say nothing, and close", Source, ConnectionsAsync),
        new("path-tricks", "Paths with newlines, NUL, escapes and dots (CVE-2019-11043)", Source, PathsAsync),
        new("content-length", "A CONTENT_LENGTH that is no number", Source, ContentLengthsAsync),
    ];

    private static CheckCase Survives(string id, string statement, Func<CheckContext, byte[]> create, string source = Source)
        => new(id, statement, source, context => SurvivesAsync(context, create(context)));

    private static byte[] Repeat(byte[] record, int count) => [.. Enumerable.Repeat(record, count).SelectMany(static bytes => bytes)];

    private static byte[] CreateNoise(int length)
    {
        var noise = new byte[length];
        new Random(length).NextBytes(noise);
        // Not a version by chance.
        noise[0] = 0x80;
        return noise;
    }

    private static async Task<string> SurvivesAsync(CheckContext context, byte[] bytes)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(bytes);
        string what;
        try
        {
            what = await peer.ReadRecordAsync(context.Quiet) switch
            {
                null => "closed",
                { Type: RecordType.EndRequest, Content.Length: 8 } end => $"END_REQUEST, {(FastCgiProtocolStatus)end.ProtocolStatus}",
                { Type: RecordType.Stdout } output => $"answered: {Encoding.Latin1.GetString(output.Content).Split('\r', '\n')[0]}",
                var record => RecordNames.Get(record.Type),
            };
        }
        catch (TimeoutException)
        {
            what = "no reaction";
        }
        catch (InvalidDataException exception)
        {
            what = exception.Message;
        }

        // While the rude connection is still there, unless the server takes one at a time.
        if (!context.IsSerial && await context.IsAliveAsync())
            return what;
        peer.Dispose();
        throw CheckException.Choice($"{await context.SurviveAsync(what)}; others are served when the connection is closed");
    }

    private static async Task<string> NotServedAsync(CheckContext context, byte[] parameters)
    {
        var answer = await context.AskAsync(CreateRequest(parameters));
        await context.SurviveAsync(answer.Describe());
        return answer.IsWhole && answer.Status == context.Status
            ? throw CheckException.Fail($"served with {answer.Status}, as if they were whole") : answer.Describe();
    }

    private static async Task<string> CutAsync(CheckContext context)
    {
        var request = context.CreatePost(500);
        for (var length = 0; length < request.Length; length += 37)
        {
            using var peer = await context.ConnectAsync();
            await peer.SendAsync(request[..length]);
            peer.Reset();
        }

        return await context.SurviveAsync();
    }

    private static async Task<string> ResetInAnswerAsync(CheckContext context)
    {
        for (var i = 0; i < 20; i++)
        {
            using var peer = await context.ConnectAsync();
            await peer.SendAsync(context.CreateGet());
            await peer.ReadRecordAsync();
            peer.Reset();
        }

        return await context.SurviveAsync();
    }

    private static async Task<string> ConnectionsAsync(CheckContext context)
    {
        var peers = new List<CheckPeer>();
        var what = "";
        try
        {
            while (peers.Count < ManyConnections)
                peers.Add(await context.ConnectAsync());
            if (!context.IsSerial && await context.IsAliveAsync())
                return "";
            what = "others are served when they are closed";
        }
        catch (SocketException exception)
        {
            what = $"connection {peers.Count + 1}: {exception.Message}";
        }
        finally
        {
            peers.ForEach(static peer => peer.Dispose());
        }

        throw await context.ChooseAsync(what);
    }

    private static async Task<string> PathsAsync(CheckContext context)
    {
        foreach (var path in (string[])["/%0a", "/\n", "/a\0b", "/%00", "/%", "/%zz", "/../../etc/passwd", "/%2e%2e/%2e%2e/", "", "*", "http://", "//",
            new string('/', 10_000)])
        {
            var parameters = context.GetParams().Where(static pair => pair.Name is not ("REQUEST_URI" or "PATH_INFO"));
            var answer = await context.AskAsync(CreateRequest(Pairs([.. parameters, ("REQUEST_URI", path), ("PATH_INFO", path)])));
            if (answer.IsSilent || answer.Flaws.Length > 0 || !await context.IsAliveAsync())
            {
                var shown = (path.Length > 40 ? path[..40] : path).Replace("\n", "\\n", StringComparison.Ordinal).Replace("\0", "\\0", StringComparison.Ordinal);
                throw CheckException.Fail($"'{shown}': {answer.Describe()}");
            }
        }

        return "";
    }

    private static async Task<string> ContentLengthsAsync(CheckContext context)
    {
        var seen = new List<string>();
        foreach (var length in (string[])["-1", "+5", "0x10", "5 ", "99999999999999999999", "abc", "5,5"])
        {
            var parameters = context.GetParams("POST").Where(static pair => pair.Name != "CONTENT_LENGTH");
            var answer = await context.AskAsync(CreateRequest(Pairs([.. parameters, ("CONTENT_LENGTH", length)]), "hello"u8));
            var what = $"'{length}': {answer.Describe()}";
            if (answer.IsSilent || answer.Flaws.Length > 0)
                throw CheckException.Fail(what);

            seen.Add(what);
        }

        return await context.SurviveAsync(string.Join(", ", seen));
    }
}
