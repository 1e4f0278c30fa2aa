using FastCgi.AspNetCore.UnitTests.Cgi;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.UnitTests.Requests;

public sealed class RequestHeadersTests
{
    [Fact]
    public void Headers_Params_AreThoseWithThePrefixAndContent()
    {
        var headers = RequestHeadersBuilder.Build(
            ("REQUEST_URI", "/"), ("HTTP_HOST", "h"), ("CONTENT_TYPE", "text/plain"), ("CONTENT_LENGTH", "5"), ("HTTP_X_FOO", "bar"),
            ("SERVER_NAME", "s"), ("HTTPS", "on"), ("SSL_PROTOCOL", "x"));

        Assert.Equal(
            ["Content-Length: 5", "Content-Type: text/plain", "Host: h", "X-Foo: bar"],
            headers.Select(static header => $"{header.Key}: {header.Value}").Order());
        Assert.Equal(4, headers.Count);
    }

    [Theory]
    [InlineData("HTTP_PROXY", "Proxy")]
    [InlineData("HTTP_proxy", "Proxy")]
    [InlineData("HTTP_CONTENT_LENGTH", "Content-Length")]
    [InlineData("HTTP_Content-Length", "Content-Length")]
    [InlineData("HTTP_CONTENT_TYPE", "Content-Type")]
    [InlineData("CONTENT_TYPE_", "Content-Type")]
    [InlineData("content_type", "Content-Type")]
    public void Headers_VariableThatIsIgnored_IsNoHeader(string variable, string header)
    {
        var headers = RequestHeadersBuilder.Build((variable, "5"));

        Assert.False(headers.ContainsKey(header));
        Assert.Null(headers.ContentLength);
        Assert.Empty(headers);
        Assert.False(headers.ContainsKey(header));
    }

    [Fact]
    public void Headers_Repeated_AreValuesInOrder()
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_X_DUP", "a"), ("HTTP_OTHER", "o"), ("HTTP_X_DUP", "b"), ("HTTP_X_DUP", "c, d"));

        AssertBoth(headers, "X-Dup", "a", "b", "c, d");
    }

    [Fact]
    public void Headers_CookieRepeated_IsOneValue()
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_COOKIE", "a=1; b=2"), ("HTTP_COOKIE", "c=3"));

        AssertBoth(headers, "Cookie", "a=1; b=2; c=3");
    }

    [Fact]
    public void Headers_Empty_IsThere()
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_X_EMPTY", ""));

        AssertBoth(headers, "X-Empty", "");
    }

    [Theory]
    [InlineData("")]
    [InlineData(null)]
    public void Headers_NoOrEmptyContentTypeAndLength_AreNotThere(string? value)
    {
        var headers = value is null ? RequestHeadersBuilder.Build() : RequestHeadersBuilder.Build(("CONTENT_TYPE", value), ("CONTENT_LENGTH", value));

        AssertBoth(headers, "Content-Type");
        AssertBoth(headers, "Content-Length");
        Assert.Null(headers.ContentLength);
    }

    [Fact]
    public void Headers_ContentLengthOfUnknownBody_IsNotThere()
    {
        var headers = RequestHeadersBuilder.Build(("CONTENT_LENGTH", "-1"));

        AssertBoth(headers, "Content-Length");
        Assert.Null(headers.ContentLength);
    }

    [Fact]
    public void Headers_ContentTypeRepeated_TheLastThatIsNotEmpty()
    {
        var headers = RequestHeadersBuilder.Build(("CONTENT_TYPE", "a/b"), ("CONTENT_TYPE", "c/d"), ("CONTENT_TYPE", ""));

        AssertBoth(headers, "Content-Type", "c/d");
    }

    [Theory]
    [InlineData("5", false)]
    [InlineData("0", false)]
    [InlineData("", true)]
    [InlineData("-1", true)]
    public void Headers_TransferEncoding_IsHiddenBesideALength(string contentLength, bool isThere)
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_TRANSFER_ENCODING", "chunked"), ("CONTENT_LENGTH", contentLength));

        AssertBoth(headers, "Transfer-Encoding", isThere ? ["chunked"] : []);
    }

    [Theory]
    [Trait("Contract", "H13")]
    [InlineData("h:8080", "s", "80", "h:8080")]
    [InlineData(null, "s.example.test", "80", "s.example.test")]
    [InlineData(null, "s.example.test", "443", "s.example.test")]
    [InlineData(null, "s.example.test", "", "s.example.test")]
    [InlineData(null, "s.example.test", null, "s.example.test")]
    [InlineData(null, "s.example.test", "8080", "s.example.test:8080")]
    [InlineData("", "s.example.test", "8080", "s.example.test:8080")]
    [InlineData(null, "::1", "8080", "[::1]:8080")]
    [InlineData(null, "[::1]", "80", "[::1]")]
    [InlineData(null, "192.0.2.1", "81", "192.0.2.1:81")]
    [InlineData(null, "_", "80", null)]
    [InlineData(null, "a b", "80", null)]
    [InlineData(null, "a/b", "80", null)]
    [InlineData(null, "", "80", null)]
    [InlineData(null, null, "80", null)]
    [InlineData("", "", "80", "")]
    [InlineData("", null, null, "")]
    public void Headers_Host_IsTheClientsOrTheServersName(string? host, string? serverName, string? serverPort, string? expected)
    {
        var parameters = CgiParameters.Get();
        foreach (var (name, value) in (ReadOnlySpan<(string, string?)>)[("HTTP_HOST", host), ("SERVER_NAME", serverName), ("SERVER_PORT", serverPort)])
        {
            if (value is not null)
                parameters.Add(name, value);
        }

        var headers = RequestHeadersBuilder.Build(parameters.Bytes);

        AssertBoth(headers, "Host", expected is null ? [] : [expected]);
    }

    /// <summary>The documented HTTP_HOST $host:$server_port has it always: a redirect URI with it is not the one that was registered.</summary>
    [Theory]
    [Trait("Contract", "H13")]
    [InlineData("https", "h:443", "h")]
    [InlineData("http", "h:80", "h")]
    [InlineData("https", "h:80", "h:80")]
    [InlineData("http", "h:443", "h:443")]
    [InlineData("https", "h:8443", "h:8443")]
    [InlineData("https", "[::1]:443", "[::1]")]
    [InlineData("http", "192.0.2.1:80", "192.0.2.1")]
    [InlineData("https", "[::443]", "[::443]")]
    [InlineData("https", "a::443", "a::443")]
    [InlineData("https", ":443", ":443")]
    [InlineData("https", "h443", "h443")]
    public void Headers_Host_LacksThePortThatTheSchemeHasAnyway(string scheme, string host, string expected)
    {
        var headers = RequestHeadersBuilder.Build(("REQUEST_SCHEME", scheme), ("HTTP_HOST", host));

        AssertBoth(headers, "Host", expected);
        AssertBoth(headers, "Host", expected);
    }

    [Theory]
    [InlineData("HTTP_HOST")]
    [InlineData("HTTP_Host")]
    [InlineData("HTTP_host")]
    public void Headers_HostFirstOrLast_IsFound(string variable)
    {
        var first = RequestHeadersBuilder.Build((variable, "h"), ("SERVER_NAME", "s"), ("HTTP_HOSTS", "no"), ("HTTP_XHOST", "no"));
        var last = RequestHeadersBuilder.Build(("SERVER_NAME", "s"), ("HTTP_X", "x"), (variable, "h"));
        var none = RequestHeadersBuilder.Build(("SERVER_NAME", "s"), ("HOST", "no"), ("http_host", "no"), ("HTTP-HOST", "no"));

        AssertBoth(first, "Host", "h");
        AssertBoth(last, "Host", "h");
        AssertBoth(none, "Host", "s");
    }

    [Fact]
    public void Headers_HostRepeated_TheLast()
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_HOST", "a"), ("HTTP_HOST", "b"));

        AssertBoth(headers, "Host", "b");
    }

    [Fact]
    public void Headers_AuthorizationRenamedByApache_IsFound()
    {
        var renamed = RequestHeadersBuilder.Build(("REDIRECT_HTTP_AUTHORIZATION", "Basic x"));
        var both = RequestHeadersBuilder.Build(("REDIRECT_HTTP_AUTHORIZATION", "Basic x"), ("HTTP_AUTHORIZATION", "Bearer y"));

        AssertBoth(renamed, "Authorization", "Basic x");
        AssertBoth(both, "Authorization", "Bearer y");
    }

    [Theory]
    [InlineData("x-foo")]
    [InlineData("X-FOO")]
    public void Headers_Lookup_WithoutRegardToCase(string name)
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_X_FOO", "bar"));

        AssertBoth(headers, name, "bar");
    }

    [Fact]
    [Trait("Contract", "H10")]
    public void Headers_EncodingChosen_IsUsed()
    {
        var options = new FastCgiServerOptions { RequestHeaderEncodingSelector = static name => name == "X-Latin" ? System.Text.Encoding.Latin1 : null! };
        var request = ResponseRig.CreateRequest(CgiParameters.Get(("HTTP_X_LATIN", "caf\xe9"), ("HTTP_X_UTF8", "\xe2\x82\xac")).Bytes, options);
        Assert.Equal(RequestRejection.None, request.Parameters.DecodeByApplication());

        AssertBoth((RequestHeaders)request.Headers, "X-Latin", "café");
        AssertBoth((RequestHeaders)request.Headers, "X-Utf8", "€");
    }

    [Fact]
    public void Headers_Changed_StayChanged()
    {
        var headers = RequestHeadersBuilder.Build(("HTTP_X_FOO", "bar"), ("CONTENT_LENGTH", "5"), ("HTTP_HOST", "h"));

        headers["X-Foo"] = "changed";
        headers["host"] = "other";
        headers.Remove("Content-Length");
        headers["X-New"] = new StringValues(["1", "2"]);

        Assert.Equal("changed", headers["X-Foo"]);
        Assert.Equal("other", headers["Host"]);
        Assert.Null(headers.ContentLength);
        Assert.Equal(new StringValues(["1", "2"]), headers["X-New"]);
        Assert.Equal(3, headers.Count);
    }

    [Fact]
    public void ContentLength_SetToWhatIsNoNumber_BadRequest()
    {
        var headers = RequestHeadersBuilder.Build();

        Assert.Throws<BadHttpRequestException>(() => headers["Content-Length"] = "five");
        Assert.Throws<BadHttpRequestException>(() => headers["content-length"] = "-5");
        headers.ContentLength = 7;
        Assert.Equal("7", headers["Content-Length"]);
        headers["content-length"] = "8";
        Assert.Equal(8, headers.ContentLength);
    }

    /// <summary>A header is looked up in the params until all are listed; both must say the same, whatever the params are.</summary>
    [Fact]
    public void Headers_LookedUpAndListed_Agree()
    {
        string[] variables =
        [
            "HTTP_HOST", "HTTP_COOKIE", "HTTP_cookie", "HTTP_X_FOO", "HTTP_X-FOO", "HTTP_x_foo", "HTTP_X__FOO", "HTTP_X.FOO", "HTTP_X FOO", "HTTP__",
            "HTTP_", "HTTP_PROXY", "HTTP_Proxy", "HTTP_AUTHORIZATION",
            "HTTP_CONTENT_TYPE", "HTTP_CONTENT-LENGTH", "HTTP_TRANSFER_ENCODING", "HTTP_ETAG", "CONTENT_TYPE", "CONTENT_LENGTH", "SERVER_NAME",
            "REDIRECT_HTTP_AUTHORIZATION", "SSL_CLIENT_CERT",
        ];
        string[] probes =
        [
            "Host", "Cookie", "X-Foo", "X_Foo", "x-FOO", "X--Foo", "X.foo", "X Foo", "-", "_", "Proxy", "Authorization", "Content-Type",
            "Content_Type", "Content-Length", "Transfer-Encoding", "ETag", "Ssl-Client-Cert", "\u0131",
        ];
        var random = new Random(11);
        for (var round = 0; round < 3_000; round++)
        {
            var parameters = CgiParameters.Get();
            for (var count = random.Next(8); count > 0; count--)
                parameters.Add(variables[random.Next(variables.Length)], random.Next(4) == 0 ? "" : "5");

            var lookedUp = RequestHeadersBuilder.Build(parameters.Bytes);
            var listed = RequestHeadersBuilder.Build(parameters.Bytes);
            Assert.InRange(listed.Count, 0, 10);

            foreach (var name in probes.Concat(listed.Keys))
            {
                Assert.Equal(listed.TryGetValue(name, out var value), lookedUp.TryGetValue(name, out var lookedUpValue));
                Assert.Equal(value.ToArray(), lookedUpValue.ToArray());
            }

            Assert.Equal(listed.ContentLength, lookedUp.ContentLength);
        }
    }

    /// <summary>Before all headers are listed, and after.</summary>
    private static void AssertBoth(RequestHeaders headers, string name, params string[] values)
    {
        Assert.Equal(values, headers[name].ToArray());
        Assert.Equal(values.Length > 0, headers.ContainsKey(name));
        _ = headers.Count;
        Assert.Equal(values, headers[name].ToArray());
        Assert.Equal(values.Length > 0, headers.ContainsKey(name));
    }
}
