namespace FastCgi.Tool.Tests;

/// <summary>Commands with their default options, against our server and applications that are not ours.</summary>
public sealed class OtherServersTests(OtherServers servers) : IClassFixture<OtherServers>, IAsyncLifetime
{
    private SampleServer? _ours;

    public async Task InitializeAsync() => _ours = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _ours!.DisposeAsync();

    /// <summary>php-fpm has three children: a kept connection would block one.</summary>
    [Theory, Values("php-fpm", "libfcgi", "go", "ours")]
    public async Task Proxy_RequestsAtTheSameTime_AreAllAnswered(string server)
    {
        using var port = new PortReservation();
        using var proxy = await StartProxyAsync(server, port);
        using var client = new HttpClient();

        var answers = await Task.WhenAll(Enumerable.Range(0, 60).Select(
            _ => client.GetStringAsync($"http://127.0.0.1:{port.EndPoint.Port}/sum"))).Within("the answers");

        Assert.All(answers, static answer => Assert.Equal("GET 0 0", answer));
    }

    [Theory, Values("php-fpm", "libfcgi", "go", "ours")]
    public async Task Proxy_ChunkedBody_ArrivesComplete(string server)
    {
        using var port = new PortReservation();
        using var proxy = await StartProxyAsync(server, port);
        using var client = new HttpClient();
        using var request = new HttpRequestMessage(HttpMethod.Post, $"http://127.0.0.1:{port.EndPoint.Port}/sum")
        {
            Content = new StringContent(new string('a', 300_000)),
        };
        request.Headers.TransferEncodingChunked = true;

        using var response = await client.SendAsync(request).Within("the answer");

        Assert.Equal("POST 300000 29100000", await response.Content.ReadAsStringAsync());
    }

    [Theory, Values("php-fpm", "libfcgi", "go", "ours")]
    public async Task Request_StandardInput_ArrivesComplete(string server)
    {
        var command =
            $"head -c 300000 /dev/zero | tr '\\0' a | dotnet '{ApplicationProcess.Tool}' request {GetAddress(server)} "
                + $"/sum -p SCRIPT_FILENAME='{OtherServers.Script}' -d @-";
        await using var process = ServerProcess.Start("bash", ["-c", command]);

        Assert.Equal(0, await process.WaitForExitAsync(Waiting.Patience));
        Assert.Equal("POST 300000 29100000", process.Output.Trim());
    }

    [Theory, Values("php-fpm", "libfcgi", "go", "ours")]
    public async Task Request_Options_WorkWithAnyServer(string server)
    {
        Assert.Matches("^Status: 200 OK\n(.+\n)+\nPOST 3 294$", await RequestAsync("-d", "abc", "-i"));
        Assert.Matches("^Status: 200 OK\n(.+\n)+\n$", await RequestAsync("-I"));
        Assert.Equal(
            "GET 0 0", JsonDocument.Parse(await RequestAsync("--json")).RootElement.GetProperty("body").GetString());

        async Task<string> RequestAsync(params string[] options)
        {
            var (code, text, error) = await ToolRun.RunAsync(
                ["request", GetAddress(server), "/sum", "-p", $"SCRIPT_FILENAME={OtherServers.Script}", .. options]);
            Assert.Equal((0, ""), (code, error));
            return text;
        }
    }

    /// <summary>The table of the documents has what fails, and nothing else.</summary>
    [Theory, Values("php-fpm", "libfcgi", "go")]
    public async Task Check_FailsAsDocumented(string server)
    {
        // libfcgi does not respond to many checks.
        var timeout = server == "libfcgi" ? "1" : "5";
        using var run = ToolRun.Start(
            "check", GetAddress(server), "-p", $"SCRIPT_FILENAME={OtherServers.Script}", "--hostile", "--json",
            "--timeout", timeout);
        await run.WaitAsync();
        var failed = JsonDocument.Parse(run.Out).RootElement.GetProperty("results").EnumerateArray()
            .Where(static result => result.GetProperty("result").GetString() == "fail").Select(
                static result => result.GetProperty("id").GetString());
        var page = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Documents", "other-servers.md"));
        var documented = Regex.Matches(
            page, @"^\| `(?<check>[a-z-]+)` \| (?<servers>[^|]*(php-fpm|Go|libfcgi)[^|]*) \|", RegexOptions.Multiline)
            .Where(row => row.Groups["servers"].Value.Contains(server, StringComparison.OrdinalIgnoreCase)).Select(
                static row => row.Groups["check"].Value);

        Assert.Equal(documented.Order(StringComparer.Ordinal), failed.Order(StringComparer.Ordinal));
    }

    private string GetAddress(string server) => server == "ours" ? _ours!.Address : servers.GetAddress(server);

    private async Task<ToolRun> StartProxyAsync(string server, PortReservation port)
    {
        var run = ToolRun.Start(
            "proxy", GetAddress(server), "--listen", $"http://127.0.0.1:{port.EndPoint.Port}", "-p",
            $"SCRIPT_FILENAME={OtherServers.Script}");
        await run.UntilErrorHasAsync("Listening on");
        return run;
    }
}
