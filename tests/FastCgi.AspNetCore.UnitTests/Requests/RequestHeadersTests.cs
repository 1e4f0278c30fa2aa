namespace FastCgi.AspNetCore.UnitTests.Requests;

public sealed class RequestHeadersTests
{
    /// <summary>The variables, with a bar between them, and the values of the header.</summary>
    [Theory]
    [Contract("H13")]
    [InlineData("HTTP_X_DUP=a|HTTP_OTHER=o|HTTP_X_DUP=b|HTTP_X_DUP=c, d", "X-Dup", "a", "b", "c, d")]
    [InlineData("HTTP_COOKIE=a=1; b=2|HTTP_COOKIE=c=3", "Cookie", "a=1; b=2; c=3")]
    [InlineData("HTTP_X_EMPTY=", "X-Empty", "")]
    [InlineData("HTTP_X_FOO=bar", "x-foo", "bar")]
    [InlineData("", "Content-Type")]
    [InlineData("CONTENT_TYPE=", "Content-Type")]
    [InlineData("CONTENT_TYPE=a/b|CONTENT_TYPE=c/d|CONTENT_TYPE=", "Content-Type", "c/d")]
    [InlineData("", "Content-Length")]
    [InlineData("CONTENT_LENGTH=", "Content-Length")]
    [InlineData("CONTENT_LENGTH=-1", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0|HTTP_CONTENT_LENGTH=0", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0|HTTP_CONTENT_LENGTH=5", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=HEAD", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=DELETE", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=OPTIONS", "Content-Length")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=POST", "Content-Length", "0")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=PUT", "Content-Length", "0")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=PATCH", "Content-Length", "0")]
    [InlineData("CONTENT_LENGTH=0|REQUEST_METHOD=PROPFIND", "Content-Length", "0")]
    [InlineData("CONTENT_LENGTH=1", "Content-Length", "1")]
    [InlineData("CONTENT_LENGTH=1|REQUEST_METHOD=DELETE", "Content-Length", "1")]
    [InlineData("HTTP_TRANSFER_ENCODING=chunked|CONTENT_LENGTH=5", "Transfer-Encoding")]
    [InlineData("HTTP_TRANSFER_ENCODING=chunked|CONTENT_LENGTH=0", "Transfer-Encoding")]
    [InlineData("HTTP_TRANSFER_ENCODING=chunked|CONTENT_LENGTH=", "Transfer-Encoding", "chunked")]
    [InlineData("HTTP_TRANSFER_ENCODING=chunked|CONTENT_LENGTH=-1", "Transfer-Encoding", "chunked")]
    [InlineData("REDIRECT_HTTP_AUTHORIZATION=Basic x", "Authorization", "Basic x")]
    [InlineData("REDIRECT_HTTP_AUTHORIZATION=Basic x|HTTP_AUTHORIZATION=Bearer y", "Authorization", "Bearer y")]
    [InlineData("HTTP_HOST=a|HTTP_HOST=b", "Host", "b")]
    [InlineData("HTTP_Host=h|SERVER_NAME=s|HTTP_HOSTS=no|HTTP_XHOST=no", "Host", "h")]
    [InlineData("SERVER_NAME=s|HTTP_X=x|HTTP_host=h", "Host", "h")]
    [InlineData("SERVER_NAME=s|HOST=no|http_host=no|HTTP-HOST=no", "Host", "s")]
    [InlineData("HTTP_HOST=h:8080|SERVER_NAME=s|SERVER_PORT=80", "Host", "h:8080")]
    [InlineData("SERVER_NAME=s.example.test|SERVER_PORT=80", "Host", "s.example.test")]
    [InlineData("SERVER_NAME=s.example.test|SERVER_PORT=443", "Host", "s.example.test")]
    [InlineData("SERVER_NAME=s.example.test|SERVER_PORT=", "Host", "s.example.test")]
    [InlineData("SERVER_NAME=s.example.test|SERVER_PORT=8080", "Host", "s.example.test:8080")]
    [InlineData("HTTP_HOST=|SERVER_NAME=s.example.test|SERVER_PORT=8080", "Host", "s.example.test:8080")]
    [InlineData("SERVER_NAME=::1|SERVER_PORT=8080", "Host", "[::1]:8080")]
    [InlineData("SERVER_NAME=[::1]|SERVER_PORT=80", "Host", "[::1]")]
    [InlineData("SERVER_NAME=192.0.2.1|SERVER_PORT=81", "Host", "192.0.2.1:81")]
    [InlineData("SERVER_NAME=_|SERVER_PORT=80", "Host")]
    [InlineData("SERVER_NAME=a b|SERVER_PORT=80", "Host")]
    [InlineData("SERVER_NAME=|SERVER_PORT=80", "Host")]
    [InlineData("SERVER_PORT=80", "Host")]
    [InlineData("HTTP_HOST=|SERVER_NAME=|SERVER_PORT=80", "Host", "")]
    [InlineData("HTTP_HOST=", "Host", "")]
    // The documented HTTP_HOST $host:$server_port has the port always: a redirect URI with it is not the one that was
    // registered.
    [InlineData("REQUEST_SCHEME=https|HTTP_HOST=h:443", "Host", "h")]
    [InlineData("REQUEST_SCHEME=http|HTTP_HOST=h:80", "Host", "h")]
    [InlineData("REQUEST_SCHEME=https|HTTP_HOST=h:80", "Host", "h:80")]
    [InlineData("REQUEST_SCHEME=http|HTTP_HOST=h:443", "Host", "h:443")]
    [InlineData("REQUEST_SCHEME=https|HTTP_HOST=[::1]:443", "Host", "[::1]")]
    [InlineData("REQUEST_SCHEME=https|HTTP_HOST=[::443]", "Host", "[::443]")]
    [InlineData("REQUEST_SCHEME=https|HTTP_HOST=h443", "Host", "h443")]
    public void Headers_Variables_AreTheHeader(string variables, string header, params string[] values)
    {
        var headers = RequestHeadersBuilder.Build(CgiParameters.Parse(variables).Bytes);

        AssertBoth(headers, header, values);
        Assert.Equal(headers["Content-Length"].Count == 0, headers.ContentLength is null);
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

    /// <summary>Headers are looked up in the params until all are listed; both ways must agree.</summary>
    [Fact]
    public void Headers_LookedUpAndListed_Agree()
    {
        string[] variables =
        [
            "HTTP_HOST", "HTTP_COOKIE", "HTTP_cookie", "HTTP_X_FOO", "HTTP_X-FOO", "HTTP_x_foo", "HTTP_X__FOO",
            "HTTP_X.FOO", "HTTP_X FOO", "HTTP__",
            "HTTP_", "HTTP_PROXY", "HTTP_Proxy", "HTTP_AUTHORIZATION",
            "HTTP_CONTENT_TYPE", "HTTP_CONTENT-LENGTH", "HTTP_TRANSFER_ENCODING", "HTTP_ETAG", "CONTENT_TYPE",
            "CONTENT_LENGTH", "SERVER_NAME",
            "REDIRECT_HTTP_AUTHORIZATION", "SSL_CLIENT_CERT",
        ];
        string[] probes =
        [
            "Host", "Cookie", "X-Foo", "X_Foo", "x-FOO", "X--Foo", "X.foo", "X Foo", "-", "_", "Proxy", "Authorization",
            "Content-Type",
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
                Assert.Equal(
                    listed.TryGetValue(name, out var value), lookedUp.TryGetValue(name, out var lookedUpValue));
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
