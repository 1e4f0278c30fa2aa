using FastCgi.AspNetCore.UnitTests.Requests;

namespace FastCgi.AspNetCore.UnitTests.Captures;

/// <summary>Streams of Caddy and h2o, rebuilt by hand: no other web server sends such params.</summary>
public sealed class SyntheticStreamTests
{
    /// <summary>
    /// Caddy 2.6: a random order with each request, empty variables, CONTENT_LENGTH of -1 for a chunked body, the
    /// headers Content-Type and Proxy as variables too, records padded to eight bytes.
    /// </summary>
    [Fact]
    public void Caddy_ChunkedUploadInAnyOrder_ApplicationSeesTheHttpRequest()
    {
        (string Name, string Value)[] variables =
        [
            ("AUTH_TYPE", ""), ("CONTENT_LENGTH", "-1"), ("CONTENT_TYPE", "text/plain"), ("DOCUMENT_ROOT", "/srv"),
            ("DOCUMENT_URI", ""),
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("HTTP_ACCEPT_ENCODING", "gzip"), ("HTTP_CONTENT_TYPE", "text/plain"), ("HTTP_COOKIE", "a=1, b=2"),
            ("HTTP_HOST", "www.example.test:8443"), ("HTTP_PROXY", "http://evil.example.test/"),
            ("HTTP_USER_AGENT", ""), ("HTTP_X_FORWARDED_FOR", "192.0.2.7"), ("HTTP_X_FORWARDED_PROTO", "https"),
            ("HTTP_X.DOT", "4"),
            ("HTTPS", "on"), ("PATH_INFO", "/a/../b c"),
            ("QUERY_STRING", "x=1"), ("REMOTE_ADDR", "192.0.2.7"), ("REMOTE_HOST", "192.0.2.7"), ("REMOTE_IDENT", ""),
            ("REMOTE_PORT", "50123"),
            ("REMOTE_USER", ""), ("REQUEST_METHOD", "POST"),
            ("REQUEST_SCHEME", "https"), ("REQUEST_URI", "/a/../b%20c?x=1"), ("SCRIPT_FILENAME", "/srv"),
            ("SCRIPT_NAME", ""),
            ("SERVER_NAME", "www.example.test"), ("SERVER_PORT", "8443"),
            ("SERVER_PROTOCOL", "HTTP/2.0"), (
                "SERVER_SOFTWARE", "Caddy/v2.6.2"), ("SSL_CIPHER", "TLS_AES_128_GCM_SHA256"),
            ("SSL_PROTOCOL", "TLSv1.3"),
        ];
        var random = new Random(26);
        for (var round = 0; round < 100; round++)
        {
            random.Shuffle(variables);
            var request = Read(
                Request(1, RecordBytes.Pairs(variables), contentLength: 300, isPadded: true, Body("hello ", "world")));

            var seen = RequestHeadersBuilder.Build(request.Parameters);
            Assert.Equal(
                RequestRejection.None, CgiRequestMapper.Map(request.Parameters, new CgiMapping(), out var head));
            Assert.Equal(
                ("POST", "HTTP/2", true, "", "/b c", "?x=1"),
                (head.Method, head.Protocol, head.IsHttps, head.PathBase, head.Path, head.QueryString));
            Assert.Null(head.ContentLength);
            Assert.Equal("hello world"u8, request.Body);
            Assert.Equal(
                [
                    "Accept-Encoding: gzip", "Content-Type: text/plain", "Cookie: a=1, b=2",
                    "Host: www.example.test:8443", "User-Agent: ",
                    "X-Forwarded-For: 192.0.2.7", "X-Forwarded-Proto: https", "X.dot: 4",
                ],
                seen.Select(static header => $"{header.Key}: {header.Value}").Order(StringComparer.Ordinal));

            var addresses = new RequestAddresses(RequestHeadersBuilder.Read(request.Parameters));
            Assert.Equal(
                ("192.0.2.7", 50_123, 8_443),
                (addresses.RemoteAddress?.ToString(), addresses.RemotePort, addresses.LocalPort));
        }
    }

    /// <summary>
    /// h2o 2.2: records of 65,535 bytes that end anywhere, in a length, a name or a value; a target in absolute form,
    /// which PATH_INFO has with a slash before it.
    /// </summary>
    [Fact]
    public void H2o_ParamsCutAt65535_ApplicationSeesTheHttpRequest()
    {
        byte[] beginning =
        [
            .. RecordBytes.Pairs(
                ("SCRIPT_NAME", ""), ("PATH_INFO", "/http://h2o.example.test:81/app/x"), (
                    "QUERY_STRING", "y=1"), ("REQUEST_METHOD", "GET"),
                ("REQUEST_URI", "http://h2o.example.test:81/app/x?y=1"), ("HTTPS", "on"),
                ("SERVER_PROTOCOL", "HTTP/2"), ("HTTP_HOST", "h2o.example.test:81"), ("HTTP_COOKIE", "a=1;b=2"),
                ("HTTP_X_DUP", "1"),
                ("HTTP_X_DUP", "2")),
        ];
        var crossing = RecordBytes.Pair("HTTP_X_" + new string('N', 150), new string('v', 200));

        // The record ends before each byte of the pair in turn.
        for (var cut = 0; cut < crossing.Length; cut++)
        {
            const int LengthsAndName = 6;
            var fill = RecordBytes.Pair("F", new string('f', 65_535 - beginning.Length - LengthsAndName - cut));
            byte[] parameters = [.. beginning, .. fill, .. crossing, .. RecordBytes.Pair("HTTP_X_LAST", "padded   ")];
            Assert.Equal(65_535 - cut, beginning.Length + fill.Length);

            var request = Read(Request(1, parameters, contentLength: 65_535, isPadded: false, []));

            var seen = RequestHeadersBuilder.Build(request.Parameters);
            Assert.Equal(
                RequestRejection.None, CgiRequestMapper.Map(request.Parameters, new CgiMapping(), out var head));
            Assert.Equal(
                ("HTTP/2", true, "/app/x", "?y=1"), (head.Protocol, head.IsHttps, head.Path, head.QueryString));
            Assert.Null(head.ContentLength);
            Assert.Equal("a=1;b=2", seen["Cookie"]);
            Assert.Equal(["1", "2"], seen["X-Dup"]!);
            Assert.Equal(new string('v', 200), seen["X-" + new string('N', 150)]);
            Assert.Equal("padded   ", seen["X-Last"]);
        }
    }

    private static ReceivedRequest Read(byte[] bytes) => Assert.Single(ReceivedRequest.ReadAll(bytes));

    private static byte[][] Body(params string[] pieces) => [.. pieces.Select(System.Text.Encoding.ASCII.GetBytes)];

    private static byte[] Request(int id, byte[] parameters, int contentLength, bool isPadded, byte[][] body)
    {
        var bytes = new List<byte>(RecordBytes.Record(1, id, [0, 1, 0, 0, 0, 0, 0, 0]));
        foreach (var content in parameters.Chunk(contentLength))
            bytes.AddRange(Record(RecordBytes.Params, content));
        bytes.AddRange(Record(RecordBytes.Params, []));
        foreach (var content in body)
            bytes.AddRange(Record(RecordBytes.Stdin, content));
        bytes.AddRange(Record(RecordBytes.Stdin, []));
        return [.. bytes];

        byte[] Record(byte type, byte[] content) => RecordBytes.Record(
            type, id, content, isPadded ? (8 - (content.Length % 8)) % 8 : 0);
    }
}
