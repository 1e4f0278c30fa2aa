using System.Text;
using FastCgi.AspNetCore.Protocol;
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
        new("garbage", "Random bytes", Source, context => SurvivesAsync(context, CreateNoise(4_000))),
        new("http", "An HTTP request on the FastCGI port", Source, context => SurvivesAsync(context, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray())),
        new("tls", "A TLS handshake on the FastCGI port", Source,
            context => SurvivesAsync(context, [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3, .. CreateNoise(200)])),
        new("params-cut-pair", "PARAMS that end within a pair are not served as if they were whole", "3.4",
            context => NotServedAsync(context, [.. context.CreateParams(), 5, 100, .. "HTTP_"u8])),
        new("params-overflow", "Lengths of 2 GiB each, whose sum wraps 32 bits (CVE-2025-23016)", "3.4",
            context => NotServedAsync(context, [.. context.CreateParams(), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8])),
        new("values-overflow", "The same in GET_VALUES", "3.4",
            context => SurvivesAsync(context, Record(RecordType.GetValues, 0, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, .. "abcd"u8]))),
        new("params-huge", "PARAMS of 4 MB", Source, context => SurvivesAsync(
            context, [.. Begin(), .. Stream(RecordType.Params, 1, Pairs(context.GetParams(extra: [("HTTP_X_HUGE", new string('v', 4_000_000))]))),
                .. Record(RecordType.Stdin, 1)])),
        new("params-endless", "PARAMS without end, 4 MB of small pairs", Source, context => SurvivesAsync(
            context, [.. Begin(), .. Stream(RecordType.Params, 1, Pairs(Enumerable.Repeat(("A", "b"), 1_000_000)))[..^8]])),
        new("begin-twice", "BEGIN_REQUEST for an id that is active", Source,
            context => SurvivesAsync(context, [.. Begin(), .. Record(RecordType.Params, 1, context.CreateParams()), .. context.CreateGet()])),
        new("begin-short", "BEGIN_REQUEST of 0 and of 4 bytes", Source,
            context => SurvivesAsync(context, Record(RecordType.BeginRequest, 1), Record(RecordType.BeginRequest, 1, [0, 1, 1, 0]))),
        new("begin-many", $"{ManyRequests} requests of one connection that are begun and go no further", Source, context => SurvivesAsync(
            context, [.. Enumerable.Range(1, ManyRequests).SelectMany(static id => Begin(id))])),
        new("empty-records", "50,000 empty records for an id that is not active", Source,
            context => SurvivesAsync(context, [.. Enumerable.Repeat(Record(RecordType.Stdin, 9), 50_000).SelectMany(static record => record)])),
        new("values-flood", "5,000 GET_VALUES whose answers are not read", Source, context => SurvivesAsync(
            context, [.. Enumerable.Repeat(Record(RecordType.GetValues, 0, Pairs([(ManagementChecks.Multiplexes, "")])), 5_000)
                .SelectMany(static record => record)])),
        new("cut", "A request that is cut at every 37th byte, with a reset", Source, CutAsync),
        new("reset-in-answer", "A reset as soon as the answer begins", Source, ResetInAnswerAsync),
        new("connections", $"{ManyConnections} connections that say nothing, and close", Source, ConnectionsAsync),
        new("path-tricks", "Paths with newlines, NUL, escapes and dots (CVE-2019-11043)", Source, PathsAsync),
        new("content-length", "A CONTENT_LENGTH that is no number", Source, ContentLengthsAsync),
    ];

    private static byte[] CreateNoise(int length)
    {
        var noise = new byte[length];
        new Random(length).NextBytes(noise);
        // Not a version by chance.
        noise[0] = 0x80;
        return noise;
    }

    private static async Task<CheckResult> SurvivesAsync(CheckContext context, params byte[][] bytes)
    {
        using var peer = await context.ConnectAsync();
        await peer.SendAsync(bytes);
        string what;
        try
        {
            what = await peer.ReadRecordAsync(context.Quiet) switch
            {
                null => "closed",
                { Type: RecordType.EndRequest, Content.Length: 8 } end => $"END_REQUEST, {(Client.FastCgiProtocolStatus)end.ProtocolStatus}",
                { Type: RecordType.Stdout } output => $"answered: {Encoding.Latin1.GetString(output.Content.AsSpan(0, Math.Min(output.Content.Length, 40))).Split('\r', '\n')[0]}",
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
        if (await context.IsAliveAsync())
            return CheckResult.Pass(what);
        peer.Dispose();
        return await context.IsAliveAsync()
            ? CheckResult.Choice($"{what}; others are served when the connection is closed")
            : CheckResult.Fail($"{what}; and then a plain GET is not answered");
    }

    private static async Task<CheckResult> NotServedAsync(CheckContext context, byte[] parameters)
    {
        var answer = await context.AskAsync([.. Begin(), .. Stream(RecordType.Params, 1, parameters), .. Record(RecordType.Stdin, 1)]);
        if (!await context.IsAliveAsync())
            return CheckResult.Fail($"{answer.Describe()}; and then a plain GET is not answered");
        return answer.IsWhole && answer.Status == context.Status ? CheckResult.Fail($"served with {answer.Status}, as if they were whole")
            : CheckResult.Pass(answer.Describe());
    }

    private static async Task<CheckResult> CutAsync(CheckContext context)
    {
        var request = context.CreatePost(500);
        for (var length = 0; length < request.Length; length += 37)
        {
            using var peer = await context.ConnectAsync();
            await peer.SendAsync(request[..length]);
            peer.Reset();
        }

        return await context.IsAliveAsync() ? CheckResult.Pass() : CheckResult.Fail("a plain GET is not answered any more");
    }

    private static async Task<CheckResult> ResetInAnswerAsync(CheckContext context)
    {
        for (var i = 0; i < 20; i++)
        {
            using var peer = await context.ConnectAsync();
            await peer.SendAsync(context.CreateGet());
            await peer.ReadRecordAsync();
            peer.Reset();
        }

        return await context.IsAliveAsync() ? CheckResult.Pass() : CheckResult.Fail("a plain GET is not answered any more");
    }

    private static async Task<CheckResult> ConnectionsAsync(CheckContext context)
    {
        var peers = new List<CheckPeer>();
        try
        {
            for (var i = 0; i < ManyConnections; i++)
                peers.Add(await context.ConnectAsync());
            var isAlive = await context.IsAliveAsync();
            peers.ForEach(static peer => peer.Dispose());
            if (!await context.IsAliveAsync())
                return CheckResult.Fail("a plain GET is not answered any more");
            return isAlive ? CheckResult.Pass() : CheckResult.Choice("others are served when they are closed");
        }
        catch (System.Net.Sockets.SocketException exception)
        {
            peers.ForEach(static peer => peer.Dispose());
            return await context.ChooseAsync($"connection {peers.Count + 1}: {exception.Message}");
        }
        finally
        {
            peers.ForEach(static peer => peer.Dispose());
        }
    }

    private static async Task<CheckResult> PathsAsync(CheckContext context)
    {
        foreach (var path in (string[])["/%0a", "/\n", "/a\0b", "/%00", "/%", "/%zz", "/../../etc/passwd", "/%2e%2e/%2e%2e/", "", "*", "http://", "//",
            new string('/', 10_000)])
        {
            var answer = await context.AskAsync(
            [
                .. Begin(), .. Stream(RecordType.Params, 1, Pairs([.. context.GetParams()
                    .Where(static pair => pair.Name is not ("REQUEST_URI" or "PATH_INFO")), ("REQUEST_URI", path), ("PATH_INFO", path)])),
                    .. Record(RecordType.Stdin, 1),
            ]);
            if (answer.IsSilent || answer.Flaws.Length > 0 || !await context.IsAliveAsync())
                return CheckResult.Fail($"'{(path.Length > 40 ? path[..40] : path).ReplaceLineEndings("\\n").Replace("\0", "\\0", StringComparison.Ordinal)}': {answer.Describe()}");
        }

        return CheckResult.Pass();
    }

    private static async Task<CheckResult> ContentLengthsAsync(CheckContext context)
    {
        var seen = new List<string>();
        foreach (var length in (string[])["-1", "+5", "0x10", "5 ", "99999999999999999999", "abc", "5,5"])
        {
            var answer = await context.AskAsync([.. Begin(), .. Stream(RecordType.Params, 1,
                Pairs([.. context.GetParams("POST").Where(static pair => pair.Name != "CONTENT_LENGTH"), ("CONTENT_LENGTH", length)])),
                .. Stream(RecordType.Stdin, 1, "hello"u8)]);
            if (answer.IsSilent || answer.Flaws.Length > 0)
                return CheckResult.Fail($"'{length}': {answer.Describe()}");

            seen.Add($"'{length}': {answer.Describe()}");
        }

        return await context.IsAliveAsync() ? CheckResult.Pass(string.Join(", ", seen)) : CheckResult.Fail("a plain GET is not answered any more");
    }
}
