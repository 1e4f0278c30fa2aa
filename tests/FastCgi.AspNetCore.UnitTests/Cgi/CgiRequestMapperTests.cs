namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>Method, protocol, scheme and content length; and why params are rejected.</summary>
public sealed class CgiRequestMapperTests
{
    [Theory]
    [InlineData("GET", "PUT", "POST", "HEAD", "PATCH", "TRACE", "QUERY", "DELETE", "OPTIONS", "CONNECT")]
    public void Map_KnownMethod_IsTheConstant(params string[] methods)
        => Assert.All(
            methods,
            static method => Assert.Same(HttpMethods.GetCanonicalizedValue(method), WithMethod(method).Map().Method));

    [Theory]
    [InlineData("GET /", "GET\r\n", "G\0", "(GET)", "\xc9")]
    public void Map_MethodIsNoToken_Rejected(params string[] methods)
        => Assert.All(
            methods, static method => Assert.Equal(RequestRejection.InvalidMethod, WithMethod(method).Reject()));

    [Fact]
    public void Map_NoMethod_Rejected()
    {
        Assert.Equal(RequestRejection.MissingMethod, new CgiParameters().Reject());
        Assert.Equal(RequestRejection.MissingMethod, new CgiParameters().Add("REQUEST_URI", "/").Reject());
        Assert.Equal(
            RequestRejection.MissingMethod,
            new CgiParameters().Add("REQUEST_METHOD", "").Add("REQUEST_URI", "/").Reject());
        Assert.Equal(
            RequestRejection.MissingMethod,
            new CgiParameters().Add("request_method", "GET").Add("REQUEST_URI", "/").Reject());
    }

    [Theory]
    [Contract("T5")]
    [InlineData("HTTP/1.0", "HTTP/1.0")]
    [InlineData("HTTP/1.1", "HTTP/1.1")]
    [InlineData(null, "HTTP/1.1")]
    [InlineData("", "HTTP/1.1")]
    [InlineData("HTTP/2.0", "HTTP/2")]
    [InlineData("HTTP/2", "HTTP/2")]
    [InlineData("HTTP/3.0", "HTTP/3")]
    [InlineData("HTTP/3", "HTTP/3")]
    [InlineData("INCLUDED", "INCLUDED")]
    [InlineData("http/1.1", "http/1.1")]
    public void Map_Protocol_IsTheConstantOrAsSent(string? sent, string expected)
    {
        string[] constants = [HttpProtocol.Http10, HttpProtocol.Http11, HttpProtocol.Http2, HttpProtocol.Http3];

        var protocol =
            (sent is null ? CgiParameters.Get() : CgiParameters.Get(("SERVER_PROTOCOL", sent))).Map().Protocol;

        Assert.Equal(expected, protocol);
        Assert.Equal(constants.Contains(expected), constants.Any(constant => ReferenceEquals(constant, protocol)));
    }

    [Theory]
    [Contract("H15")]
    [InlineData(
        true, "HTTPS=on", "HTTPS=ON", "HTTPS=1", "HTTPS=https", "HTTPS=HTTPS|REQUEST_SCHEME=http",
        "HTTPS=on|REQUEST_SCHEME=http")]
    [InlineData(
        true, "REQUEST_SCHEME=https", "REQUEST_SCHEME=HTTPS", "HTTPS=|REQUEST_SCHEME=https",
        "HTTPS=off|REQUEST_SCHEME=https")]
    [InlineData(false, "", "HTTPS=off", "HTTPS=0", "HTTPS=", "HTTPS=no", "HTTPS=onion")]
    [InlineData(false, "REQUEST_SCHEME=http", "REQUEST_SCHEME=", "REQUEST_SCHEME=wss", "REQUEST_SCHEME=httpsx")]
    // A header with the same claim is ignored.
    [InlineData(
        false, "HTTP_X_FORWARDED_PROTO=https", "HTTP_FORWARDED=proto=https", "HTTP_HTTPS=on", "HTTP_FRONT_END_HTTPS=on",
        "https=on")]
    public void Map_Scheme_HttpsThenRequestScheme(bool isHttps, params string[] variables)
        => Assert.All(variables, text => Assert.Equal(isHttps, CgiParameters.Parse(text).Map().IsHttps));

    [Theory]
    [InlineData("0", 0L)]
    [InlineData("1", 1L)]
    [InlineData("0012", 12L)]
    [InlineData("30000000", 30_000_000L)]
    [InlineData("9223372036854775807", long.MaxValue)]
    [InlineData("", null)]
    [InlineData("-1", null)]
    public void Map_ContentLength_IsANumberOrUnknown(string sent, long? contentLength)
        => Assert.Equal(contentLength, CgiParameters.Get(("CONTENT_LENGTH", sent)).Map().ContentLength);

    [Theory]
    [Contract("T17")]
    [InlineData("9223372036854775808", "99999999999999999999", "-0", "-2", "+1", " 1", "1 ")]
    [InlineData("1,1", "1, 1", "1.0", "1e3", "0x10", "ten", "1\0", "1\r\n", "\xb2")]
    public void Map_ContentLengthIsNotDigits_Rejected(params string[] lengths)
        => Assert.All(lengths, static length => Assert.Equal(RequestRejection.InvalidContentLength, CgiParameters.Get((
            "CONTENT_LENGTH", length)).Reject()));

    [Theory]
    [InlineData("5", "5", 5L)]
    [InlineData("5", "", null)]
    [InlineData("", "5", 5L)]
    [InlineData("", "", null)]
    [InlineData("-1", "-1", null)]
    [InlineData("5", "6", -1L)]
    [InlineData("5", "05", -1L)]
    [InlineData("5", "-1", -1L)]
    [InlineData("-1", "5", -1L)]
    public void Map_ContentLengthRepeated_TheLastCountsOrTheyDiffer(string first, string second, long? contentLength)
    {
        var parameters = CgiParameters.Get(("CONTENT_LENGTH", first), ("CONTENT_LENGTH", second));
        if (contentLength < 0)
            Assert.Equal(RequestRejection.InvalidContentLength, parameters.Reject());
        else
            Assert.Equal(contentLength, parameters.Map().ContentLength);
    }

    [Theory]
    [Contract("T18")]
    [InlineData("HTTP_CONTENT_LENGTH")]
    [InlineData("HTTP_content-length")]
    [InlineData("Content-Length")]
    public void Map_ContentLengthFromAHeader_IsIgnored(string name)
        => Assert.Null(CgiParameters.Get((name, "5")).Map().ContentLength);

    [Theory]
    [InlineData("HTTP_X", "a\rb", "a\nb", "a\0b", "caf\xe9", "\xc3", "\xed\xa0\x80")]
    [InlineData("HTTP_HOST", "h\0")]
    [InlineData("HTTP_COOKIE", "a=\xff")]
    [InlineData("CONTENT_TYPE", "text/plain\r\nX: y", "\x80")]
    public void Map_HeaderValueIsNotText_Rejected(string name, params string[] values)
        => Assert.All(
            values,
            value => Assert.Equal(RequestRejection.InvalidHeaderValue, CgiParameters.Get((name, value)).Reject()));

    /// <summary>As in Kestrel. Otherwise, AllowedHosts could be bypassed, and links would lead elsewhere.</summary>
    [Theory]
    [InlineData("evil.example?.example.com", "evil.example#.example.com", "evil.example\\.example.com", "a/b", "u@a")]
    [InlineData("<b>", "a b", "a,b", "a;b", "a=b", "a*b", "a%41", "\"", "\x7f", "\xc3\xa9", "[a]")]
    [InlineData(":80", ":", "a:b", "a::80", "a:80b", "a:80:80", "a:8 0", "a:+1", "a:80?")]
    [InlineData("[::1", "[::1]80", "[::1]:b", "[:1]", "]")]
    public void Map_HostIsInvalid_Rejected(params string[] hosts)
        => Assert.All(hosts, static host => Assert.Equal(
            RequestRejection.InvalidHost, CgiParameters.Get(("HTTP_HOST", host)).Reject()));

    /// <summary>nginx on a Unix socket has no port, so <c>$host:$server_port</c> ends with a colon.</summary>
    [Theory]
    [InlineData("", "a", "A-1.example", "a_b", "_", "a:", "a:0", "a:99999", "127.0.0.1:80", "a!$&'()~.b")]
    [InlineData("[::1]", "[::1]:", "[::1]:80", "[::ffff:1.2.3.4]", "[FE80::1]:5")]
    public void Map_HostIsValid_IsTaken(params string[] hosts)
        => Assert.All(hosts, static host => Assert.Equal("GET", CgiParameters.Get(("HTTP_HOST", host)).Map().Method));

    [Theory]
    [InlineData("HTTP_X", "", "a\tb", "\x01\x7f", "\xe2\x82\xac")]
    [InlineData("CONTENT_TYPE", "")]
    [InlineData("SSL_CLIENT_CERT", "line\nline\r\n\0")]
    [InlineData("REMOTE_USER", "\xe9")]
    public void Map_OtherValue_IsTaken(string name, params string[] values)
        => Assert.All(values, value => Assert.Equal("GET", CgiParameters.Get((name, value)).Map().Method));

    [Theory]
    [InlineData(1, false)]
    [InlineData(2, false)]
    [InlineData(3, true)]
    internal void Map_MoreParametersThanTheLimit_Rejected(int limit, bool isTaken)
        => Assert.Equal(
            isTaken ? RequestRejection.None : RequestRejection.TooManyParameters,
            CgiParameters.Get(("A", ""), ("A", "")).Reject(
                new CgiMapping(new() { Limits = { MaxRequestParameterCount = limit } })));

    [Fact]
    public void Map_Repeated_TheLastCounts()
    {
        var head = CgiParameters.Get(
            ("REQUEST_METHOD", "POST"), ("HTTPS", "off"), ("HTTPS", "on"), ("REQUEST_URI", "/a"), ("REQUEST_URI", "/b"),
            ("SERVER_PROTOCOL", "HTTP/1.0"), ("SERVER_PROTOCOL", "HTTP/2.0")).Map();

        Assert.Equal(("POST", true, "/b", "HTTP/2"), (head.Method, head.IsHttps, head.Path, head.Protocol));
    }

    [Fact]
    public void RequestRejection_Each_HasADistinctStatusAndReason()
    {
        var rejections = Enum.GetValues<RequestRejection>()
            .Where(static rejection => rejection != RequestRejection.None).ToList();

        Assert.Equal(rejections.Count, rejections.Select(static rejection => rejection.GetReason()).Distinct().Count());
        Assert.All(rejections, static rejection => Assert.InRange(rejection.GetStatusCode(), 400, 503));
        Assert.Equal(400, RequestRejection.MalformedParameters.GetStatusCode());
        Assert.Equal(405, RequestRejection.AsteriskTarget.GetStatusCode());
        Assert.Equal(408, RequestRejection.ParametersTimeout.GetStatusCode());
        Assert.Equal(431, RequestRejection.ParametersTooLarge.GetStatusCode());
        Assert.Equal(431, RequestRejection.TooManyParameters.GetStatusCode());
        Assert.Equal(503, RequestRejection.TooManyRequests.GetStatusCode());
    }

    private static CgiParameters WithMethod(string method)
        => new CgiParameters().Add("REQUEST_METHOD", method).Add("REQUEST_URI", "/");
}
