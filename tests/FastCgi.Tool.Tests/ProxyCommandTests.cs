using FastCgi.Tool.Commands.Proxy;
using FastCgi.Tool.Terminal;
using Microsoft.AspNetCore.Http;

namespace FastCgi.Tool.Tests;

public sealed class ProxyCommandTests : IAsyncLifetime, IDisposable
{
    private readonly PortReservation _port = new();
    private SampleServer? _server;

    private string Url => $"http://127.0.0.1:{_port.EndPoint.Port}";

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    public void Dispose() => _port.Dispose();

    [Fact]
    public async Task Requests_GoThrough_WithALineEach()
    {
        using var proxy = await StartAsync(_server!.Address);
        using var client = new HttpClient { BaseAddress = new Uri(Url) };
        client.DefaultRequestHeaders.Add("X-A", "value");

        Assert.Equal("hello", await client.GetStringAsync("/"));
        Assert.Equal($"http 127.0.0.1:{_port.EndPoint.Port} 127.0.0.1 value", await client.GetStringAsync("/client"));
        Assert.Equal("/target?a=%20", await client.GetStringAsync("/target?a=%20"));
        using var empty = await client.GetAsync("/empty");
        Assert.Equal(HttpStatusCode.NoContent, empty.StatusCode);
        using var failed = await client.GetAsync("/error");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, failed.StatusCode);

        await proxy.UntilOutHasAsync("stderr: said on standard error");
        Assert.Matches(@"(?m)^200 GET /  5 bytes  [0-9.]+ ms$", proxy.Out);
        Assert.Equal(0, await proxy.StopAsync());
        Assert.EndsWith("Stopped.\n", proxy.Error);
    }

    [Fact]
    public async Task Bodies_StreamBothWays()
    {
        using var proxy = await StartAsync(_server!.Address);
        using var client = new HttpClient { BaseAddress = new Uri(Url) };
        var body = new byte[5_000_000];
        new Random(1).NextBytes(body);
        using var response = await client.PostAsync("/", new ByteArrayContent(body)).Within("the echo");
        Assert.Equal(body, await response.Content.ReadAsByteArrayAsync());
    }

    [Fact]
    public async Task Application_NotThere_IsA502WithTheReason()
    {
        using var proxy = await StartAsync("unix:/nonexistent/app.sock", "--json");
        using var client = new HttpClient { BaseAddress = new Uri(Url) };
        using var response = await client.GetAsync("/");

        Assert.Equal(HttpStatusCode.BadGateway, response.StatusCode);
        Assert.StartsWith(
            "502: fastcgi://unix:/nonexistent/app.sock: no such socket",
            await response.Content.ReadAsStringAsync());
        await proxy.UntilOutHasAsync("\n");
        Assert.Equal(502, JsonDocument.Parse(proxy.Out).RootElement.GetProperty("status").GetInt32());
    }

    /// <summary>A faulty application results in a 502, and the proxy continues.</summary>
    [Theory]
    [InlineData("Status: 204 No Content\r\nContent-Length: 0\r\n\r\n", 204)]
    [InlineData("X-A: \u00e4\r\n\r\n", 200)]
    [InlineData("Connection: X-Hop\r\nX-Hop: 1\r\n\r\n", 200)]
    [InlineData("X-A: \u0001\r\n\r\n", 502)]
    [InlineData("no header block", 502)]
    [InlineData("Status: 101 Switching Protocols\r\n\r\n", 502)]
    public async Task Application_Malformed_HasAResponse(string answer, int status)
    {
        using var listener = TestSockets.ListenTcp();
        using var proxy = await StartAsync($"{listener.LocalEndPoint}");
        using var client = new HttpClient(
            new SocketsHttpHandler { RequestHeaderEncodingSelector = static (_, _) => Encoding.Latin1 });
        client.DefaultRequestHeaders.Add("X-A", "\u00e4");
        using var body = new StringContent("") { Headers = { ContentType = null } };
        body.Headers.TryAddWithoutValidation("Content-Type", "\u00fc");
        var asking = client.PostAsync(Url, body);
        using var connection = await listener.AcceptAsync().Within("the connection");
        var received = new byte[10_000];
        await connection.ReceiveAsync(received);
        Assert.Contains("HTTP_X_A\u00e4", Encoding.Latin1.GetString(received));
        Assert.Contains("CONTENT_TYPE\u00fc", Encoding.Latin1.GetString(received));
        // At once: the proxy may close the connection as soon as it has seen the first record.
        await connection.SendAsync((byte[])[
            .. RecordBytes.Record(RecordBytes.Stdout, 1, Encoding.Latin1.GetBytes(answer)),
            .. RecordBytes.Record(RecordBytes.Stdout, 1),
            .. RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8])]);

        using var response = await asking.Within("the answer");
        Assert.Equal(status, (int)response.StatusCode);
        Assert.False(response.Headers.Contains("X-Hop"));
        Assert.DoesNotContain("Stopped", proxy.Error);
    }

    [Fact]
    public async Task Application_Silent_IsA504()
    {
        using var proxy = await StartAsync(_server!.Address, "--timeout", "0.2");
        using var client = new HttpClient { BaseAddress = new Uri(Url) };
        using var response = await client.GetAsync("/hold").Within("the answer");

        Assert.Equal(HttpStatusCode.GatewayTimeout, response.StatusCode);
        Assert.Equal("504: the response did not begin within 0.2 s\n", await response.Content.ReadAsStringAsync());
    }

    /// <summary>The time that a client takes to send its body does not count as the application's.</summary>
    [Fact]
    public async Task Upload_Slow_IsNoTimeout()
    {
        using var proxy = await StartAsync(_server!.Address, "--timeout", "0.5");
        var head = "POST /sum HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n";

        Assert.StartsWith("HTTP/1.1 200 ", await ExchangeAsync([head, "1", "1"], static () => Task.Delay(1_000)));
    }

    [Fact]
    public async Task Upload_Reset_IsLoggedAsTheClients()
    {
        using var proxy = await StartAsync(_server!.Address);
        using (var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
        {
            LingerState = new LingerOption(true, 0),
        })
        {
            await socket.ConnectAsync(_port.EndPoint);
            await socket.SendAsync("POST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n123"u8.ToArray());
            await Waiting.UntilAsync(
                async () => (await ToolRun.RunAsync("top", _server.Address, "--once")).Out.Contains(
                    "POST /sum"),
                static () => null,
                "the request");
        }

        await proxy.UntilOutHasAsync("499 POST /sum  0 bytes");
    }

    [Fact]
    public async Task Target_Absolute_IsPassedWithoutItsHost()
    {
        using var proxy = await StartAsync(_server!.Address);
        var request = "GET http://example.com/target?a=%20 HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";

        Assert.Contains("\r\n/target?a=%20", await ExchangeAsync([request], static () => Task.CompletedTask));
    }

    [Fact]
    public async Task Answer_Cut_IsCutForTheClientToo()
    {
        using var proxy = await StartAsync(_server!.Address);
        using var client = new HttpClient { BaseAddress = new Uri(Url) };

        await Assert.ThrowsAsync<HttpRequestException>(() => client.GetStringAsync("/cut").Within("the failure"));
        await proxy.UntilOutHasAsync("GET /cut");
    }

    [Fact]
    public async Task Root_ServesItsFiles_AndNamesTheScript()
    {
        using var folder = new ScratchFolder();
        folder.Write("style.css", "body {}"u8.ToArray());
        folder.Write("secret.php", "<?php source"u8.ToArray());
        using var proxy = await StartAsync(_server!.Address, "--root", folder.Path);
        using var client = new HttpClient { BaseAddress = new Uri(Url) };

        Assert.Equal("body {}", await client.GetStringAsync("/style.css"));
        Assert.Equal("fallback /secret.php", await client.GetStringAsync("/secret.php"));
        Assert.Equal($"{folder.Path}/parameter", await client.GetStringAsync("/parameter"));
    }

    [Theory]
    [InlineData(
        "CONNECT a.com:443 HTTP/1.1\r\nHost: a.com:443\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 405 ",
        "CONNECT is not supported")]
    [InlineData(
        "GET /hop HTTP/1.0\r\nHost: a\r\nConnection: X-Hop\r\nX-Hop: secret\r\nX-Other: other\r\n\r\n",
        "HTTP/1.1 200 ",
        "\r\n\r\nother")]
    public async Task HopByHop_IsNotPassed(string request, string start, string text)
    {
        using var proxy = await StartAsync(_server!.Address);

        var answer = await ExchangeAsync([request], static () => Task.CompletedTask);

        Assert.StartsWith(start, answer);
        Assert.Contains(text, answer);
    }

    [Fact]
    public async Task Record_HasTheBytesOfBothSides_ForItsOwnerOnly()
    {
        using var folder = new ScratchFolder();
        var file = folder.Write("traffic.jsonl", "old"u8.ToArray());
        using (var proxy = await StartAsync(_server!.Address, "--record", file))
        {
            using var client = new HttpClient { BaseAddress = new Uri(Url) };
            Assert.Equal("hello", await client.GetStringAsync("/"));
            Assert.Equal(0, await proxy.StopAsync());
        }

        var lines = (await File.ReadAllLinesAsync(file)).Select(static line => JsonDocument.Parse(line).RootElement)
            .ToList();
        Assert.Equal("fastcgi-recording/1", lines[0].GetProperty("format").GetString());
        Assert.Equal("open", lines[1].GetProperty("event").GetString());
        byte[] Join(string from) => [
            .. lines.Skip(1)
            .Where(line => line.TryGetProperty("bytes", out _) && line.GetProperty("from").GetString() == from)
            .SelectMany(static line => line.GetProperty("bytes").GetBytesFromBase64())];
        Assert.Equal((1, RecordBytes.BeginRequest), (Join("web")[0], Join("web")[1]));
        Assert.True(Join("app").AsSpan().IndexOf(RecordBytes.Record(RecordBytes.EndRequest, 1, new byte[8])) >= 0);
        if (!OperatingSystem.IsWindows())
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(file));
        Assert.Equal(
            3,
            (await ToolRun.RunAsync("proxy", _server.Address, "--listen", Url, "--record", "/nonexistent/file")).Code);
    }

    /// <summary>Kestrel listens on all interfaces if it is given this text.</summary>
    [Fact]
    public async Task Listen_WithAnEmptyUser_IsOfTheAddress_WhichOnlyOneCanHave()
    {
        using var proxy = ToolRun.Start(
            "proxy", _server!.Address, "--listen", Url.Replace("//", "//@"));
        await proxy.UntilErrorHasAsync($"Listening on {Url},");
        Assert.Equal(3, (await ToolRun.RunAsync("proxy", _server.Address, "--listen", Url)).Code);
    }

    /// <summary>Sends the parts of a request, waits after each, and reads until the connection ends.</summary>
    private async Task<string> ExchangeAsync(string[] parts, Func<Task> wait)
    {
        using var socket = TestSockets.Connect(_port.EndPoint);
        foreach (var part in parts)
        {
            await socket.SendAsync(Encoding.Latin1.GetBytes(part));
            await wait();
        }

        using var reader = new StreamReader(new NetworkStream(socket));
        return await reader.ReadToEndAsync().Within("the answer");
    }

    private async Task<ToolRun> StartAsync(string address, params string[] more)
    {
        var run = ToolRun.Start(["proxy", address, "--listen", Url, .. more]);
        await run.UntilErrorHasAsync("Listening on");
        return run;
    }
}
