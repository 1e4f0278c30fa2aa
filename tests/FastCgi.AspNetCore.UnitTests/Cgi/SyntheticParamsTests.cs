using FastCgi.AspNetCore.UnitTests.Requests;

namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>Params of Caddy and h2o, rebuilt by hand: no other web server sends such params.</summary>
public sealed class SyntheticParamsTests
{
    /// <summary>
    /// Caddy 2.6: a random order with each request, empty variables, CONTENT_LENGTH of -1 for a chunked body, and the
    /// headers Content-Type and Proxy as variables too.
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
            var bytes = RecordBytes.Pairs(variables);

            var seen = RequestHeadersBuilder.Build(bytes);
            Assert.Equal(RequestRejection.None, CgiRequestMapper.Map(bytes, new CgiMapping(), out var head));
            Assert.Equal(
                ("POST", "HTTP/2", true, "", "/b c", "?x=1"),
                (head.Method, head.Protocol, head.IsHttps, head.PathBase, head.Path, head.QueryString));
            Assert.Null(head.ContentLength);
            Assert.Equal(
                [
                    "Accept-Encoding: gzip", "Content-Type: text/plain", "Cookie: a=1, b=2",
                    "Host: www.example.test:8443", "User-Agent: ",
                    "X-Forwarded-For: 192.0.2.7", "X-Forwarded-Proto: https", "X.dot: 4",
                ],
                seen.Select(static header => $"{header.Key}: {header.Value}").Order(StringComparer.Ordinal));

            var addresses = new RequestAddresses(RequestHeadersBuilder.Read(bytes));
            Assert.Equal(
                ("192.0.2.7", 50_123, 8_443),
                (addresses.RemoteIpAddress?.ToString(), addresses.RemotePort, addresses.LocalPort));
        }
    }

    /// <summary>h2o 2.2: a target in absolute form, which PATH_INFO has with a slash before it.</summary>
    [Fact]
    public void H2o_TargetInAbsoluteForm_ApplicationSeesTheHttpRequest()
    {
        var bytes = RecordBytes.Pairs(
            ("SCRIPT_NAME", ""), ("PATH_INFO", "/http://h2o.example.test:81/app/x"), ("QUERY_STRING", "y=1"),
            ("REQUEST_METHOD", "GET"), ("REQUEST_URI", "http://h2o.example.test:81/app/x?y=1"), ("HTTPS", "on"),
            ("SERVER_PROTOCOL", "HTTP/2"), ("HTTP_HOST", "h2o.example.test:81"), ("HTTP_COOKIE", "a=1;b=2"),
            ("HTTP_X_DUP", "1"), ("HTTP_X_DUP", "2"));

        var seen = RequestHeadersBuilder.Build(bytes);
        Assert.Equal(RequestRejection.None, CgiRequestMapper.Map(bytes, new CgiMapping(), out var head));
        Assert.Equal(("HTTP/2", true, "/app/x", "?y=1"), (head.Protocol, head.IsHttps, head.Path, head.QueryString));
        Assert.Null(head.ContentLength);
        Assert.Equal("a=1;b=2", seen["Cookie"]);
        Assert.Equal("h2o.example.test:81", seen["Host"]);
        Assert.Equal(["1", "2"], seen["X-Dup"]!);
    }
}
