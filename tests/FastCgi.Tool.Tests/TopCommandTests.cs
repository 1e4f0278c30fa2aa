namespace FastCgi.Tool.Tests;

public sealed class TopCommandTests : IAsyncLifetime
{
    private SampleServer? _server;

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    [Fact]
    public async Task Once_IsOnePicture()
    {
        var (code, text, error) = await ToolRun.RunAsync("top", _server!.Address, "--once");

        Assert.Equal((0, ""), (code, error));
        Assert.Contains($"\n{_server.Address}\n", text);
        Assert.Matches(@"\nrequests     1 active, 0 queued, \d+ total, 0 rejected, 0 aborted\n", text);
        Assert.Matches(@"\n *\d+\.\d s  \w+ .* 127\.0\.0\.1 +GET /fastcgi-status", text);
        Assert.DoesNotContain('\e', text);
    }

    [Fact]
    public async Task Requests_AreSortedByAge()
    {
        using var first = ToolRun.Start("request", _server!.Address, "/hold");
        await Waiting.UntilAsync(
            async () => (await ToolRun.RunAsync("top", _server.Address, "--once")).Out.Contains(
                "GET /hold"),
            static () => null,
            "the request to be seen");

        var (_, text, _) = await ToolRun.RunAsync("top", _server.Address, "--once");

        Assert.InRange(text.IndexOf("GET /hold", StringComparison.Ordinal), 0, text.IndexOf(
            "GET /fastcgi-status", StringComparison.Ordinal));
        await first.StopAsync();
    }

    [Fact]
    public async Task WithoutOnce_ContinuesUntilItIsStopped()
    {
        using var run = ToolRun.Start("top", _server!.Address);
        await Waiting.UntilAsync(() => run.Out.Split("\nrequests ").Length > 2, "two pictures");

        Assert.Equal(130, await run.StopAsync());
        Assert.DoesNotContain('\e', run.Out);
    }

    [Fact]
    public async Task Url_OfKestrelBeside_IsRead()
    {
        using var port = new PortReservation();
        var url = $"http://127.0.0.1:{port.EndPoint.Port}";
        port.Dispose();
        await using var server = await SampleServer.StartAsync(statusAddress: url);

        var (code, text, _) = await ToolRun.RunAsync("top", url + "/fastcgi-status", "--once");

        Assert.Equal(0, code);
        Assert.Contains("\nno active requests\n", text);
    }

    [Fact]
    public async Task Json_IsTheStatusOnALine()
    {
        var (code, text, _) = await ToolRun.RunAsync("top", _server!.Address, "--once", "--json");

        Assert.Equal(0, code);
        Assert.Equal(
            1,
            JsonDocument.Parse(Assert.Single(text.TrimEnd('\n').Split('\n'))).RootElement.GetProperty(
                "requests").GetProperty("active").GetInt32());
    }

    [Fact]
    public async Task NoStatus_HasItsCodes()
    {
        Assert.Equal(1, (await ToolRun.RunAsync("top", _server!.Address, "--path", "/error", "--once")).Code);
        Assert.Equal(1, (await ToolRun.RunAsync("top", _server.Address, "--path", "/", "--once")).Code);
        var missing = await ToolRun.RunAsync("top", "unix:/nonexistent/app.sock", "--once");
        Assert.Equal(
            (3, "fastcgi: fastcgi://unix:/nonexistent/app.sock: no such socket.\n"), (missing.Code, missing.Error));
        using var port = new PortReservation();
        var (code, _, error) = await ToolRun.RunAsync("top", $"http://127.0.0.1:{port.EndPoint.Port}/", "--once");
        Assert.Equal(3, code);
        Assert.StartsWith($"fastcgi: http://127.0.0.1:{port.EndPoint.Port}/: ", error);
    }
}
