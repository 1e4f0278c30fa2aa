namespace FastCgi.Tool.Tests;

/// <summary>
/// Hostile applications, files, and arguments: each command ends with an exit code and a message, and leaves the
/// terminal intact.
/// </summary>
public sealed class HostileTests : IDisposable
{
    private const string Escape = "\e]0;owned\a\e[2J";

    private readonly ScratchFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Request_OfAnAddressOfIp6_HasBrackets()
    {
        using var application = new Application(_folder, "A: b\n\nhello");
        var (_, _, error) = await ToolRun.RunAsync("request", application.Address, "http://[::1]:8080/", "-v");
        Assert.Contains("* HTTP_HOST=[::1]:8080\n", error);
        Assert.Contains("* SERVER_NAME=[::1]\n", error);
    }

    [Theory]
    [InlineData("HTTP_X_ARR_CLIENTCERT")]
    [InlineData("HTTP_X_SSL_CERT")]
    [InlineData("PHP_AUTH_PW")]
    [InlineData("AWS_ACCESS_KEY_ID")]
    [InlineData("SSL_SESSION_ID")]
    public async Task Request_Verbose_MasksSecrets(string name)
    {
        using var application = new Application(_folder, "A: b\n\nhello");
        Assert.DoesNotContain(
            "s3cret",
            (await ToolRun.RunAsync("request", application.Address, "/", "-v", "-p", name + "=s3cret")).Error);
    }

    [Theory]
    [InlineData("X-A: b" + Escape + "\n\nbody", "")]
    [InlineData("Status: 200 " + Escape + "\n\nbody", "")]
    [InlineData("Status: " + Escape + "\n\n", "")]
    [InlineData("Content-Length: " + Escape + "\n\n", "")]
    [InlineData("A: b\n\nbody", "said " + Escape + "\n")]
    [InlineData("", "said " + Escape + "\n")]
    public async Task Request_EscapeSequences_AreNotPrinted(string output, string error)
    {
        using var application = new Application(_folder, output, error);
        var (_, text, errors) = await ToolRun.RunAsync("request", application.Address, "/", "-i");
        AssertClean(text + errors);
    }

    [Theory]
    [InlineData("doctor")]
    [InlineData("top", "--once")]
    [InlineData("check", "--only", "get-values", "--only", "unknown-type")]
    public async Task Others_LetNoEscapesThrough(params string[] arguments)
    {
        foreach (var output in new[]
        {
            "Status: 500 " + Escape + "\nX: " + Escape + "\n\n{\"" + Escape + "\":1}",
            "Content-Type: application/json\n\n{\"application\":\"" + Escape + "\"}",
            "Status: " + Escape + "\n\n",
        })
        {
            using var application = new Application(_folder, output, "said " + Escape)
            {
                Values = [("FCGI_MAX_CONNS", Escape), (Escape, "1")],
            };
            var (_, text, error) = await ToolRun.RunAsync([arguments[0], application.Address, .. arguments[1..]]);
            AssertClean(text + error);
        }
    }

    [Fact]
    public async Task Top_StatusWithoutValues_ReportsError()
    {
        await using var server = await SampleServer.StartAsync();
        var status = (await ToolRun.RunAsync("request", server.Address, "/fastcgi-status?format=json")).Out;
        foreach (var name in new[]
        {
            "application",
            "endpoints",
            "connections",
            "requests",
            "recent",
            "resources",
            "limits",
            "recommendations",
            "errors",
            "activeRequests",
        })
        {
            var node = System.Text.Json.Nodes.JsonNode.Parse(status)!.AsObject();
            node[name] = null;
            using var application = new Application(_folder, "A: b\n\n" + node.ToJsonString());
            var (code, _, error) = await ToolRun.RunAsync("top", application.Address, "--once");
            Assert.True(code == 1 && error.Length > 0, $"{name}: {code} {error}");
        }
    }

    [Fact]
    public async Task Proxy_LetsNoEscapesIntoItsLog()
    {
        using var port = new PortReservation();
        using var application = new Application(_folder, "A: b\n\nbody", "said " + Escape + "\nand more");
        using var proxy = ToolRun.Start(
            "proxy", application.Address, "--listen", $"http://127.0.0.1:{port.EndPoint.Port}");
        await proxy.UntilErrorHasAsync("Listening");
        using var socket = TestSockets.Connect(port.EndPoint);
        await socket.SendAsync(Encoding.ASCII.GetBytes(
            "GET /x" + Escape.Replace(' ', 'x') + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        await proxy.UntilOutHasAsync("GET /");
        await proxy.StopAsync();
        AssertClean(proxy.Out);
    }

    /// <summary>The site keeps working.</summary>
    [LinuxFact]
    public async Task Proxy_RecordingIntoAFullDisk_KeepsServing()
    {
        using var port = new PortReservation();
        using var application = new Application(_folder, "A: b\n\nhello");
        using var proxy = ToolRun.Start(
            "proxy", application.Address, "--listen", $"http://127.0.0.1:{port.EndPoint.Port}", "--record",
            "/dev/full");
        await proxy.UntilErrorHasAsync("Listening");
        using var client = new HttpClient();

        Assert.Equal("hello", await client.GetStringAsync($"http://127.0.0.1:{port.EndPoint.Port}/"));
        await proxy.UntilErrorHasAsync("The recording ends here: ");
        await proxy.StopAsync();
    }

    [Theory]
    [InlineData("nginx", "server { location / { root \"abc")]
    [InlineData("nginx", "server { listen; server_name; location / { fastcgi_pass; fastcgi_pass 127.0.0.1:9; } }")]
    [InlineData(
        "nginx",
        "upstream a; upstream; upstream { } server { location / { fastcgi_pass a; } } upstream b { server; keepalive; "
            + "}  server { location { fastcgi_pass b; } }")]
    [InlineData("nginx", "include conf[z-a].conf; include conf[!]x]; include [; include \"\"; include ;")]
    [InlineData(
        "nginx",
        "user; fastcgi_param; server { fastcgi_param A; listen 99999999999; fastcgi_read_timeout; client_max_body_size "
            + "99999999999999999999g; location / { fastcgi_read_timeout 99999999999999999999d; fastcgi_buffer_size "
            + "x; fastcgi_pass 127.0.0.1:9; } }")]
    [InlineData(
        "apache",
        "<VirtualHost\nProxyPass\nProxyPass /\n<Location>\nSetHandler\nInclude conf[z-a]\nServerRoot\nDefine\n"
            + "</Location>\n</VirtualHost>\n</VirtualHost>")]
    [InlineData(
        "apache",
        "ProxyPass / fcgi://127.0.0.1:99999/ timeout=99999999999999 enablereuse\nProxyTimeout 99999999999999\n"
            + "LimitRequestBody 99999999999999999999")]
    [InlineData("lighttpd", "server.modules = (\nfastcgi.server = (\"/\" => ((\"host\" => ")]
    [InlineData(
        "lighttpd",
        "fastcgi.server = (\"/\" => ((\"host\" => \"x\", \"port\" => \"999999999999\", \"socket\" => ())))\n"
            + "server.max-request-size = 99999999999999999999\ninclude \"conf[z-a].conf\"\n}\n}\nelse {")]
    [InlineData(
        "haproxy",
        "backend\nserver\nserver a\nserver a 127.0.0.1:99999 proto\nuse-fcgi-app\nbackend x\nserver a proto fcgi\n"
            + "timeout\ntimeout server 99999999999999999999d\nfcgi-app\ndocroot\nset-param\ndefaults\nfrontend f\n"
            + "bind\nuse_backend\ndefault_backend")]
    [InlineData("caddy", "(a) {\nreverse_proxy 127.0.0.1:9 {\ntransport fastcgi\nimport a\n}\n}\n:80 {\nimport a\n}\n")]
    public async Task Doctor_OfABrokenConfiguration_EndsWithACode(string server, string text)
    {
        var file = _folder.Write("broken.conf", Encoding.UTF8.GetBytes(text));
        Assert.Contains(
            (await ToolRun.RunAsync("doctor", file, "--server", server, "--no-connect")).Code, new[] { 0, 1, 3 });
    }

    /// <summary>The site keeps working.</summary>
    [LinuxFact]
    public async Task Proxy_LoggingToAFullDisk_KeepsServing()
    {
        using var port = new PortReservation();
        using var application = new Application(_folder, "A: b\n\nhello");
        var url = $"http://127.0.0.1:{port.EndPoint.Port}";
        await using var proxy = ServerProcess.Start("bash", [
            "-c", $"exec dotnet '{ApplicationProcess.Tool}' proxy {application.Address} --listen {url} > /dev/full"]);
        await Waiting.UntilAsync(() => proxy.Output.Contains("Listening"), "the proxy");
        using var client = new HttpClient();

        Assert.Equal("hello", await client.GetStringAsync($"{url}/"));
    }

    [Fact]
    public async Task Doctor_OfAFolderWithLinksToItself_Ends()
    {
        var folder = _folder.GetPath("sites");
        Directory.CreateDirectory(folder);
        for (var i = 0; i < 3; i++)
            File.CreateSymbolicLink(Path.Combine(folder, $"link{i}"), folder);
        await File.WriteAllTextAsync(Path.Combine(folder, "a.conf"), "ProxyPass / fcgi://127.0.0.1:9/\n");
        var file = _folder.Write("apache.conf", Encoding.UTF8.GetBytes($"Include {folder}\n"));
        var (code, text, _) = await ToolRun.RunAsync("doctor", file, "--server", "apache", "--no-connect");
        Assert.Contains(code, new[] { 0, 1 });
        Assert.Contains("a.conf:1", text);
    }

    [LinuxFact]
    public async Task Doctor_OfAFileWithoutEnd_IsThree()
        => Assert.Equal(3, (await ToolRun.RunAsync("doctor", "/dev/zero", "--no-connect")).Code);

    [Theory]
    [InlineData("nginx", "a {")]
    [InlineData("lighttpd", "a = (")]
    [InlineData("lighttpd", "( => ")]
    [InlineData("apache", "<A>\nB\n")]
    [InlineData("haproxy", "backend x\n")]
    public async Task Doctor_OfMuchNesting_EndsWithACode(string server, string part)
    {
        // In a separate process, which a stack overflow would end.
        var file = _folder.Write("deep.conf", Encoding.UTF8.GetBytes(string.Concat(Enumerable.Repeat(part, 20_000))));
        await using var process = ServerProcess.Start(
            "dotnet", [ApplicationProcess.Tool, "doctor", file, "--server", server, "--no-connect"]);
        await Waiting.UntilAsync(() => process.HasExited, "the doctor to end");
        Assert.DoesNotContain("Stack overflow", process.Output);
        Assert.DoesNotContain("Unhandled", process.Output);
    }

    private static void AssertClean(string text)
        => Assert.DoesNotContain(text, static letter => char.IsControl(letter) && letter is not ('\n' or '\t'));

    /// <summary>Answers each request, and each question for values, with the same.</summary>
    private sealed class Application : IDisposable
    {
        private readonly Socket _listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        private readonly byte[] _answer;

        public Application(ScratchFolder folder, string output, string error = "")
        {
            Address = folder.GetPath($"{Guid.NewGuid():N}.sock");
            _answer =
            [
                .. error.Length > 0 ? RecordBytes.Record(7, 1, Encoding.UTF8.GetBytes(error)) : [],
                .. output.Length > 0 ? RecordBytes.Record(6, 1, Encoding.UTF8.GetBytes(output)) : [],
                .. RecordBytes.Record(6, 1),
                .. RecordBytes.Record(3, 1, new byte[8]),
            ];
            _listener.Bind(new UnixDomainSocketEndPoint(Address));
            _listener.Listen();
            _ = AcceptAsync();
        }

        public string Address { get; }

        public (string, string)[] Values { get; init; } = [];

        public void Dispose() => _listener.Dispose();

        private async Task AcceptAsync()
        {
            while (true)
                _ = AnswerAsync(await _listener.AcceptAsync());
        }

        private async Task AnswerAsync(Socket socket)
        {
            await using var stream = new NetworkStream(socket, ownsSocket: true);
            var header = new byte[8];
            while (await stream.ReadAtLeastAsync(header, header.Length, throwOnEndOfStream: false) == header.Length)
            {
                var content = new byte[(header[4] << 8) + header[5] + header[6]];
                await stream.ReadExactlyAsync(content);
                if (header[1] == 9)
                    await socket.SendAsync(RecordBytes.Record(10, 0, RecordBytes.Pairs(Values)));
                else if (header[1] == 5 && content.Length == 0)
                    await socket.SendAsync(_answer);
            }
        }
    }
}
