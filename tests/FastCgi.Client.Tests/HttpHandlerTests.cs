namespace FastCgi.Client.Tests;

/// <summary>HttpClient's messages as parameters, and answers as its messages.</summary>
public sealed class HttpHandlerTests : IDisposable
{
    private readonly ScriptedApplication _application = new();
    private readonly FastCgiHttpHandler _handler;
    private readonly HttpClient _client;

    public HttpHandlerTests()
    {
        _handler = new FastCgiHttpHandler(_application.Address);
        _client = new HttpClient(_handler);
    }

    [Fact]
    public async Task Get_HasTheParametersOfNginx()
    {
        _handler.Parameters["SCRIPT_FILENAME"] = "/srv/index.php";
        _handler.Parameters["SERVER_SOFTWARE"] = "nginx/1.22.1";
        using var message = new HttpRequestMessage(HttpMethod.Get, "https://example.com:8443/a%20b/c?d=%20");
        message.Headers.Add("Accept", ["text/html", "*/*"]);
        message.Headers.Add("Cookie", ["a=1", "b=2"]);
        message.Headers.Add("User-Agent", "test/1.0 (x)");
        message.Headers.TryAddWithoutValidation("Proxy", "http://evil");
        message.Headers.TryAddWithoutValidation("x_under", "dropped");
        message.Headers.ConnectionClose = true;

        Assert.Equal(
            Encoding.UTF8.GetString(Pairs(
                ("QUERY_STRING", "d=%20"), ("REQUEST_METHOD", "GET"), ("CONTENT_TYPE", ""), ("CONTENT_LENGTH", ""),
                ("SCRIPT_NAME", "/a b/c"), ("REQUEST_URI", "/a%20b/c?d=%20"), ("DOCUMENT_URI", "/a b/c"),
                ("SERVER_PROTOCOL", "HTTP/1.1"), ("REQUEST_SCHEME", "https"), ("HTTPS", "on"),
                ("GATEWAY_INTERFACE", "CGI/1.1"), ("SERVER_SOFTWARE", "nginx/1.22.1"), ("REMOTE_ADDR", "127.0.0.1"),
                ("REMOTE_PORT", "0"), ("SERVER_ADDR", "127.0.0.1"), ("SERVER_PORT", "8443"),
                ("SERVER_NAME", "example.com"), ("HTTP_HOST", "example.com:8443"), ("HTTP_ACCEPT", "text/html, */*"),
                ("HTTP_COOKIE", "a=1; b=2"), ("HTTP_USER_AGENT", "test/1.0 (x)"),
                ("SCRIPT_FILENAME", "/srv/index.php"))),
            Encoding.UTF8.GetString(await GetParamsAsync(message)));
    }

    [Fact]
    public async Task RequestParameters_ReplaceThoseOfTheHandler()
    {
        _handler.Parameters["SCRIPT_FILENAME"] = "/srv/index.php";
        _handler.Parameters["REMOTE_USER"] = "alice";
        using var message = new HttpRequestMessage(HttpMethod.Get, "http://example.com/");
        message.Options.Set(FastCgiHttpHandler.RequestParameters, new Dictionary<string, string>
        {
            ["REMOTE_ADDR"] = "192.0.2.1",
            ["REMOTE_USER"] = "bob",
            ["EXTRA"] = "1",
        });

        var parameters = Encoding.UTF8.GetString(await GetParamsAsync(message));

        foreach (var (name, value) in new[]
        {
            ("REMOTE_ADDR", "192.0.2.1"), ("REMOTE_USER", "bob"), ("EXTRA", "1"), ("SCRIPT_FILENAME", "/srv/index.php"),
        })
            Assert.Contains(Encoding.UTF8.GetString(Pairs((name, value))), parameters);
        Assert.DoesNotContain("alice", parameters);
    }

    [Theory]
    [InlineData("text/plain; charset=utf-8")]
    [InlineData("no type; charset=")]
    public async Task Post_HasTypeLengthAndBody(string type)
    {
        using var message = new HttpRequestMessage(HttpMethod.Post, "http://example.com/")
        {
            Content = new ByteArrayContent("grüße"u8.ToArray()),
        };
        message.Content.Headers.TryAddWithoutValidation("Content-Type", type);
        var sending = _client.SendAsync(message);
        var connection = await _application.AcceptAsync();
        var records = await connection.ReadRequestAsync();
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\n"));
        (await sending.Within("the answer")).Dispose();

        Assert.Equal("grüße"u8.ToArray(), records.Where(static record => record.Type == Stdin).SelectMany(
            static record => record.Content));
        var pairs = Encoding.UTF8.GetString(
            [.. records.Where(static record => record.Type == Params).SelectMany(static record => record.Content)]);
        Assert.Contains($"CONTENT_TYPE{type}\u000e", pairs);
        Assert.Contains("CONTENT_LENGTH7", pairs);
        Assert.DoesNotContain("HTTP_CONTENT", pairs);
    }

    /// <summary>Also where a context gives each continuation to the thread that waits.</summary>
    [Fact]
    public async Task Send_Synchronous_GivesTheAnswer()
    {
        using var message = new HttpRequestMessage(HttpMethod.Get, "http://example.com/");
        var context = new ContextOfABusyThread();
        var sending = Task.Run(() =>
        {
            SynchronizationContext.SetSynchronizationContext(context);
            var response = _client.Send(message);
            Assert.Same(context, SynchronizationContext.Current);
            SynchronizationContext.SetSynchronizationContext(null);
            return response;
        });
        await _application.AnswerAsync("A: b\n\nhello");

        using var response = await sending.Within("the answer");
        using var reader = new StreamReader(response.Content.ReadAsStream());
        Assert.Equal("hello", reader.ReadToEnd());
    }

    [Fact]
    public async Task Answer_IsAMessage()
    {
        string? standardError = null;
        _handler.StandardErrorReceived = (_, text) => standardError = text;
        var sending = _client.GetAsync("http://example.com/");
        var connection = await _application.AcceptRequestAsync();
        await connection.SendAsync(
            [.. Record(Stderr, 1, "careful"u8), .. ScriptedConnection.Answer(
                "Status: 404 Nowhere\nSet-Cookie: a=1\nSet-Cookie: b=2\nContent-Type: text/plain\nContent-Length: 4\n\n"
                    + "body")]);

        using var response = await sending.Within("the answer");
        Assert.Equal((HttpStatusCode.NotFound, "Nowhere", "text/plain", 4), (
            response.StatusCode,
            response.ReasonPhrase,
            response.Content.Headers.ContentType!.ToString(),
            response.Content.Headers.ContentLength));
        Assert.Equal(["a=1", "b=2"], response.Headers.GetValues("Set-Cookie"));
        Assert.Equal("body", await response.Content.ReadAsStringAsync());
        await Waiting.UntilAsync(() => standardError is not null, "standard error");
        Assert.Equal("careful", standardError);
    }

    [Fact]
    public async Task Answer_Streams()
    {
        var sending = _client.GetAsync("http://example.com/", HttpCompletionOption.ResponseHeadersRead);
        var connection = await _application.AcceptRequestAsync();
        await connection.SendAsync(Record(Stdout, 1, "A: b\n\nfirst"u8));
        using var response = await sending.Within("the head");
        await using var body = await response.Content.ReadAsStreamAsync();
        var first = new byte[5];
        await body.ReadExactlyAsync(first);
        Assert.Equal("first"u8.ToArray(), first);
        response.Dispose();

        Assert.Null(await connection.ReadRecordAsync());
    }

    [Fact]
    public async Task Failure_Each_EqualsHttpClients()
    {
        var sending = _client.GetAsync("http://example.com/");
        var connection = await _application.AcceptRequestAsync();
        connection.Dispose();
        var exception = await Assert.ThrowsAsync<HttpRequestException>(() => sending.Within("the failure"));
        Assert.Equal(HttpRequestError.ResponseEnded, exception.HttpRequestError);
        Assert.IsType<FastCgiProtocolException>(exception.InnerException);

        using var nobody = new HttpClient(new FastCgiHttpHandler("unix:/nonexistent/app.sock"));
        exception = await Assert.ThrowsAsync<HttpRequestException>(() => nobody.GetAsync("http://example.com/"));
        Assert.Equal(HttpRequestError.ConnectionError, exception.HttpRequestError);
        await Assert.ThrowsAsync<InvalidOperationException>(() => nobody.GetAsync("ftp://example.com/"));
    }

    public void Dispose()
    {
        _client.Dispose();
        _application.Dispose();
    }

    private async Task<byte[]> GetParamsAsync(HttpRequestMessage message)
    {
        var sending = _client.SendAsync(message);
        var connection = await _application.AcceptAsync();
        var records = await connection.ReadRequestAsync();
        await connection.SendAsync(ScriptedConnection.Answer("A: b\n\n"));
        (await sending.Within("the answer")).Dispose();
        return [.. records.Where(static record => record.Type == Params).SelectMany(static record => record.Content)];
    }

    private sealed class ContextOfABusyThread : SynchronizationContext
    {
        public override void Post(SendOrPostCallback d, object? state)
        {
        }
    }
}
