namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>Method, protocol, scheme and content length; and why params are rejected.</summary>
public sealed class CgiRequestMapperTests
{
    [Theory]
    [InlineData("GET")]
    [InlineData("PUT")]
    [InlineData("POST")]
    [InlineData("HEAD")]
    [InlineData("PATCH")]
    [InlineData("TRACE")]
    [InlineData("QUERY")]
    [InlineData("DELETE")]
    [InlineData("OPTIONS")]
    [InlineData("CONNECT")]
    public void Map_KnownMethod_IsTheConstant(string method)
    {
        var head = new CgiParameters().Add("REQUEST_METHOD", method).Add("REQUEST_URI", "/").Map();

        Assert.Same(HttpMethods.GetCanonicalizedValue(method), head.Method);
    }

    [Theory]
    [InlineData("PROPFIND")]
    [InlineData("FROBNICATE")]
    [InlineData("get")]
    [InlineData("Head")]
    [InlineData("M-SEARCH")]
    [InlineData("!#$%&'*+-.^_`|~09azAZ")]
    public void Map_OtherMethod_IsAsSent(string method)
        => Assert.Equal(method, new CgiParameters().Add("REQUEST_METHOD", method).Add("REQUEST_URI", "/").Map().Method);

    [Theory]
    [InlineData("GET /")]
    [InlineData("GET\r\n")]
    [InlineData("G\0")]
    [InlineData("(GET)")]
    [InlineData("\xc9")]
    internal void Map_MethodIsNoToken_Rejected(string method)
        => Assert.Equal(RequestRejection.InvalidMethod, new CgiParameters().Add("REQUEST_METHOD", method).Add("REQUEST_URI", "/").Reject());

    [Fact]
    public void Map_NoMethod_Rejected()
    {
        Assert.Equal(RequestRejection.MissingMethod, new CgiParameters().Reject());
        Assert.Equal(RequestRejection.MissingMethod, new CgiParameters().Add("REQUEST_URI", "/").Reject());
        Assert.Equal(RequestRejection.MissingMethod, new CgiParameters().Add("REQUEST_METHOD", "").Add("REQUEST_URI", "/").Reject());
        Assert.Equal(RequestRejection.MissingMethod, new CgiParameters().Add("request_method", "GET").Add("REQUEST_URI", "/").Reject());
    }

    [Theory]
    [Trait("Contract", "T5")]
    [InlineData("HTTP/1.0", "HTTP/1.0")]
    [InlineData("HTTP/1.1", "HTTP/1.1")]
    [InlineData("HTTP/2.0", "HTTP/2")]
    [InlineData("HTTP/2", "HTTP/2")]
    [InlineData("HTTP/3.0", "HTTP/3")]
    [InlineData("HTTP/3", "HTTP/3")]
    public void Map_KnownProtocol_IsTheConstant(string sent, string protocol)
    {
        string[] constants = [HttpProtocol.Http10, HttpProtocol.Http11, HttpProtocol.Http2, HttpProtocol.Http3];

        Assert.Same(constants.Single(constant => constant == protocol), CgiParameters.Get(("SERVER_PROTOCOL", sent)).Map().Protocol);
    }

    [Fact]
    public void Map_NoOrOtherProtocol_Http11OrAsSent()
    {
        Assert.Same(HttpProtocol.Http11, CgiParameters.Get().Map().Protocol);
        Assert.Same(HttpProtocol.Http11, CgiParameters.Get(("SERVER_PROTOCOL", "")).Map().Protocol);
        Assert.Equal("INCLUDED", CgiParameters.Get(("SERVER_PROTOCOL", "INCLUDED")).Map().Protocol);
        Assert.Equal("http/1.1", CgiParameters.Get(("SERVER_PROTOCOL", "http/1.1")).Map().Protocol);
    }

    [Theory]
    [Trait("Contract", "H15")]
    [InlineData("on", null, true)]
    [InlineData("ON", null, true)]
    [InlineData("1", null, true)]
    [InlineData("https", null, true)]
    [InlineData("HTTPS", "http", true)]
    [InlineData("on", "http", true)]
    [InlineData("off", null, false)]
    [InlineData("0", null, false)]
    [InlineData("", null, false)]
    [InlineData("no", null, false)]
    [InlineData("onion", null, false)]
    [InlineData(null, null, false)]
    [InlineData(null, "http", false)]
    [InlineData(null, "https", true)]
    [InlineData(null, "HTTPS", true)]
    [InlineData("", "https", true)]
    [InlineData("off", "https", true)]
    [InlineData(null, "", false)]
    [InlineData(null, "wss", false)]
    [InlineData(null, "httpsx", false)]
    public void Map_Scheme_HttpsThenRequestScheme(string? https, string? requestScheme, bool isHttps)
    {
        var parameters = CgiParameters.Get();
        if (https is not null)
            parameters.Add("HTTPS", https);
        if (requestScheme is not null)
            parameters.Add("REQUEST_SCHEME", requestScheme);

        Assert.Equal(isHttps, parameters.Map().IsHttps);
    }

    [Theory]
    [InlineData("HTTP_X_FORWARDED_PROTO", "https")]
    [InlineData("HTTP_FORWARDED", "proto=https")]
    [InlineData("HTTP_HTTPS", "on")]
    [InlineData("HTTP_FRONT_END_HTTPS", "on")]
    [InlineData("https", "on")]
    public void Map_HeaderThatTellsOfHttps_IsNotBelieved(string name, string value) => Assert.False(CgiParameters.Get((name, value)).Map().IsHttps);

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
    [Trait("Contract", "T17")]
    [InlineData("9223372036854775808")]
    [InlineData("99999999999999999999")]
    [InlineData("-0")]
    [InlineData("-2")]
    [InlineData("+1")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("1,1")]
    [InlineData("1, 1")]
    [InlineData("1.0")]
    [InlineData("1e3")]
    [InlineData("0x10")]
    [InlineData("ten")]
    [InlineData("1\0")]
    [InlineData("1\r\n")]
    [InlineData("\xb2")]
    internal void Map_ContentLengthIsNotDigits_Rejected(string sent)
        => Assert.Equal(RequestRejection.InvalidContentLength, CgiParameters.Get(("CONTENT_LENGTH", sent)).Reject());

    [Theory]
    [InlineData("5", "5", 5L)]
    [InlineData("5", "", null)]
    [InlineData("", "5", 5L)]
    [InlineData("", "", null)]
    [InlineData("-1", "-1", null)]
    public void Map_ContentLengthRepeated_SameOrEmpty_TheLastCounts(string first, string second, long? contentLength)
        => Assert.Equal(contentLength, CgiParameters.Get(("CONTENT_LENGTH", first), ("CONTENT_LENGTH", second)).Map().ContentLength);

    [Theory]
    [InlineData("5", "6")]
    [InlineData("5", "05")]
    [InlineData("5", "-1")]
    [InlineData("-1", "5")]
    internal void Map_ContentLengthRepeated_Different_Rejected(string first, string second)
        => Assert.Equal(RequestRejection.InvalidContentLength, CgiParameters.Get(("CONTENT_LENGTH", first), ("CONTENT_LENGTH", second)).Reject());

    [Theory]
    [Trait("Contract", "T18")]
    [InlineData("HTTP_CONTENT_LENGTH")]
    [InlineData("HTTP_content-length")]
    [InlineData("Content-Length")]
    public void Map_ContentLengthFromAHeader_IsNotBelieved(string name) => Assert.Null(CgiParameters.Get((name, "5")).Map().ContentLength);

    [Theory]
    [InlineData("HTTP_X", "a\rb")]
    [InlineData("HTTP_X", "a\nb")]
    [InlineData("HTTP_X", "a\0b")]
    [InlineData("HTTP_X", "caf\xe9")]
    [InlineData("HTTP_X", "\xc3")]
    [InlineData("HTTP_X", "\xed\xa0\x80")]
    [InlineData("HTTP_HOST", "h\0")]
    [InlineData("HTTP_COOKIE", "a=\xff")]
    [InlineData("CONTENT_TYPE", "text/plain\r\nX: y")]
    [InlineData("CONTENT_TYPE", "\x80")]
    internal void Map_HeaderValueIsNotText_Rejected(string name, string value)
        => Assert.Equal(RequestRejection.InvalidHeaderValue, CgiParameters.Get((name, value)).Reject());

    [Theory]
    [InlineData("HTTP_X", "")]
    [InlineData("HTTP_X", "a\tb")]
    [InlineData("HTTP_X", "\x01\x7f")]
    [InlineData("HTTP_X", "\xe2\x82\xac")]
    [InlineData("CONTENT_TYPE", "")]
    [InlineData("SSL_CLIENT_CERT", "line\nline\r\n\0")]
    [InlineData("REMOTE_USER", "\xe9")]
    public void Map_OtherValue_IsTaken(string name, string value) => Assert.Equal("GET", CgiParameters.Get((name, value)).Map().Method);

    [Theory]
    [InlineData(1, false)]
    [InlineData(2, false)]
    [InlineData(3, true)]
    internal void Map_MoreParametersThanTheLimit_Rejected(int limit, bool isTaken)
        => Assert.Equal(
            isTaken ? RequestRejection.None : RequestRejection.TooManyParameters,
            CgiParameters.Get(("A", ""), ("A", "")).Reject(new CgiMapping { MaxParameterCount = limit }));

    [Fact]
    public void Map_StreamCutInsideAPair_Rejected()
    {
        var bytes = CgiParameters.Get(("REQUEST_URI", "/a")).Bytes;
        var beginnings = new[] { 0, new CgiParameters().Add("REQUEST_METHOD", "GET").Bytes.Length, bytes.Length };

        for (var cut = 1; cut < bytes.Length; cut++)
        {
            if (!beginnings.Contains(cut))
                Assert.Equal(RequestRejection.MalformedParameters, CgiRequestMapper.Map(bytes.AsSpan(0, cut), new CgiMapping(), out _));
        }
    }

    [Fact]
    public void Map_Repeated_TheLastCounts()
    {
        var head = CgiParameters.Get(
            ("REQUEST_METHOD", "POST"), ("HTTPS", "off"), ("HTTPS", "on"), ("REQUEST_URI", "/a"), ("REQUEST_URI", "/b"),
            ("SERVER_PROTOCOL", "HTTP/1.0"), ("SERVER_PROTOCOL", "HTTP/2.0")).Map();

        Assert.Equal(("POST", true, "/b", "HTTP/2"), (head.Method, head.IsHttps, head.Path, head.Protocol));
    }

    [Fact]
    public void Map_AnyOrder_TheSame()
    {
        (string Name, string Value)[] variables =
        [
            ("QUERY_STRING", "q=1"), ("REQUEST_URI", "/app/x?q=1"), ("PATH_BASE", "/app"), ("CONTENT_LENGTH", "5"), ("HTTPS", "on"),
            ("SERVER_PROTOCOL", "HTTP/2.0"),
        ];
        var random = new Random(7);
        for (var round = 0; round < 50; round++)
        {
            random.Shuffle(variables);
            var head = CgiParameters.Get(variables).Map();

            Assert.Equal(("/app", "/x", "?q=1"), (head.PathBase, head.Path, head.QueryString));
            Assert.Equal((5L, true, "HTTP/2"), (head.ContentLength, head.IsHttps, head.Protocol));
        }
    }

    [Fact]
    public void RequestRejection_Each_HasAStatusAndAReasonOfItsOwn()
    {
        var rejections = Enum.GetValues<RequestRejection>().Where(static rejection => rejection != RequestRejection.None).ToList();

        Assert.Equal(rejections.Count, rejections.Select(static rejection => rejection.GetReason()).Distinct().Count());
        Assert.DoesNotContain(RequestRejection.None.GetReason(), rejections.Select(static rejection => rejection.GetReason()));
        Assert.All(rejections, static rejection => Assert.InRange(rejection.GetStatusCode(), rejection == RequestRejection.Ping ? 200 : 400, 503));
        Assert.Equal(400, RequestRejection.MalformedParameters.GetStatusCode());
        Assert.Equal(405, RequestRejection.AsteriskTarget.GetStatusCode());
        Assert.Equal(408, RequestRejection.ParametersTimeout.GetStatusCode());
        Assert.Equal(431, RequestRejection.ParametersTooLarge.GetStatusCode());
        Assert.Equal(431, RequestRejection.TooManyParameters.GetStatusCode());
        Assert.Equal(503, RequestRejection.TooManyRequests.GetStatusCode());
    }
}
