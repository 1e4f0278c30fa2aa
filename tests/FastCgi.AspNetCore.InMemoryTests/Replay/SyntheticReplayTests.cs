using FastCgi.AspNetCore.Testing;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests.Replay;

/// <summary>What Caddy and h2o send, put together by hand, through the whole server: nobody else sends params like these.</summary>
public sealed class SyntheticReplayTests(ReplayServer server) : IClassFixture<ReplayServer>
{
    private const int MaxContentLength = 65_535;

    /// <summary>Caddy: a random order with each request, empty variables, CONTENT_LENGTH of -1, every record padded to eight bytes.</summary>
    [Fact]
    public async Task Caddy_ChunkedUploadInAnyOrder_ApplicationSeesTheHttpRequest()
    {
        (string Name, string Value)[] variables =
        [
            ("AUTH_TYPE", ""), ("CONTENT_LENGTH", "-1"), ("CONTENT_TYPE", "text/plain"), ("DOCUMENT_URI", ""), ("HTTP_CONTENT_TYPE", "text/plain"),
            ("HTTP_COOKIE", "a=1; b=2"), ("HTTP_HOST", "www.example.test:8443"), ("HTTP_PROXY", "http://evil.example.test/"), ("HTTPS", "on"),
            ("PATH_INFO", "/a/../b c"), ("QUERY_STRING", "x=1"), ("REMOTE_ADDR", "192.0.2.7"), ("REMOTE_USER", ""), ("REQUEST_METHOD", "POST"),
            ("REQUEST_SCHEME", "https"), ("REQUEST_URI", "/a/../b%20c?x=1"), ("SCRIPT_NAME", ""), ("SERVER_PORT", "8443"), ("SERVER_PROTOCOL", "HTTP/2.0"),
        ];
        var random = new Random(26);
        for (var round = 0; round < 50; round++)
        {
            random.Shuffle(variables);

            var seen = Assert.Single(await server.PlayAsync(
            [
                .. RecordBytes.Begin(keepConnection: false),
                .. Padded(RecordBytes.Params, RecordBytes.Pairs(variables)),
                .. Padded(RecordBytes.Params, []),
                .. Padded(RecordBytes.Stdin, "hello "u8.ToArray()),
                .. Padded(RecordBytes.Stdin, "world"u8.ToArray()),
                .. Padded(RecordBytes.Stdin, []),
            ]));

            Assert.Equal(("POST", "HTTP/2", true, "/b c", "?x=1"), (seen.Method, seen.Protocol, seen.IsHttps, seen.Path, seen.QueryString));
            Assert.Equal(["Content-Type: text/plain", "Cookie: a=1; b=2", "Host: www.example.test:8443"], seen.Headers.Order(StringComparer.Ordinal));
            Assert.Equal((null, "hello world", true), (seen.ContentLength, System.Text.Encoding.ASCII.GetString(seen.Body), seen.IsBodyWhole));
        }
    }

    /// <summary>h2o: records of 65,535 bytes that end anywhere, in a length, a name or a value.</summary>
    [Fact]
    public async Task H2o_ParamsCutInsideAPair_ApplicationSeesTheHttpRequest()
    {
        var beginning = RecordBytes.Pairs(
            ("SCRIPT_NAME", ""), ("PATH_INFO", "/app/x"), ("REQUEST_METHOD", "GET"), ("REQUEST_URI", "/app/x?y=1"), ("HTTPS", "on"),
            ("SERVER_PROTOCOL", "HTTP/2"), ("HTTP_X_DUP", "1"), ("HTTP_X_DUP", "2"));
        var crossing = RecordBytes.Pairs(("HTTP_X_" + new string('N', 150), new string('v', 200)));

        // The record ends before each byte of the pair in turn.
        for (var cut = 0; cut < crossing.Length; cut++)
        {
            const int LengthsAndName = 6;
            var fill = RecordBytes.Pairs(("F", new string('f', MaxContentLength - beginning.Length - LengthsAndName - cut)));
            byte[] parameters = [.. beginning, .. fill, .. crossing, .. RecordBytes.Pairs(("HTTP_X_LAST", "padded   "))];

            var seen = Assert.Single(await server.PlayAsync(
            [
                .. RecordBytes.Begin(),
                .. RecordBytes.Record(RecordBytes.Params, 1, parameters.AsSpan(0, MaxContentLength)),
                .. RecordBytes.Record(RecordBytes.Params, 1, parameters.AsSpan(MaxContentLength)),
                .. RecordBytes.Record(RecordBytes.Params, 1),
                .. RecordBytes.Record(RecordBytes.Stdin, 1),
            ]));

            Assert.Equal(("HTTP/2", true, "/app/x", "?y=1"), (seen.Protocol, seen.IsHttps, seen.Path, seen.QueryString));
            Assert.Contains("X-Dup: 1 | 2", seen.Headers);
            Assert.Contains("X-Last: padded   ", seen.Headers);
            Assert.Contains($"X-{new string('N', 150)}: {new string('v', 200)}", seen.Headers, StringComparer.OrdinalIgnoreCase);
        }
    }

    private static byte[] Padded(byte type, byte[] content) => RecordBytes.Record(type, 1, content, (8 - (content.Length % 8)) % 8);
}
