namespace FastCgi.Tool.Tests;

public sealed class RequestCommandTests : IAsyncLifetime
{
    private SampleServer? _server;

    private string Address => _server!.Address;

    public async Task InitializeAsync() => _server = await SampleServer.StartAsync();

    public async Task DisposeAsync() => await _server!.DisposeAsync();

    [Fact]
    public async Task Get_WritesTheBody()
        => Assert.Equal((0, "hello", ""), await ToolRun.RunAsync("request", Address, "http://example.com/"));

    [Theory]
    [InlineData("/target?a=%20", "/target?a=%20")]
    [InlineData("http://example.com/target?x#fragment", "/target?x")]
    [InlineData("http://example.com/a/../%2e%2e//b", "fallback /a/../%2e%2e//b")]
    [InlineData("http://example.com?x", "hello")]
    public async Task Url_IsSentAsItIsWritten(string url, string answer)
        => Assert.Equal(answer, (await ToolRun.RunAsync("request", Address, url)).Out);

    [Fact]
    public async Task Headers_AndParameters_AreSent()
    {
        Assert.Equal(
            "https example.com:8443 127.0.0.1 value",
            (await ToolRun.RunAsync("request", Address, "https://example.com:8443/client", "-H", "X-A: value")).Out);
        Assert.Equal(
            "http other 192.0.2.7 ",
            (
                await ToolRun.RunAsync(
                    "request", Address, "/client", "-H", "Host: other", "-p", "REMOTE_ADDR=192.0.2.7")).Out);
        Assert.Equal(
            "/srv/index.php",
            (await ToolRun.RunAsync("request", Address, "/parameter", "-p", "SCRIPT_FILENAME=/srv/index.php")).Out);
    }

    [Fact]
    public async Task Data_OfTextOrFile_IsPosted()
    {
        using var folder = new ScratchFolder();
        var file = folder.Write("body", "from a file"u8.ToArray());
        var output = folder.GetPath("output");

        Assert.Equal("a text", (await ToolRun.RunAsync("request", Address, "/", "-d", "a text")).Out);
        Assert.Equal((0, "", ""), await ToolRun.RunAsync("request", Address, "/", "-d", "@" + file, "-o", output));
        Assert.Equal("from a file", await File.ReadAllTextAsync(output));
    }

    /// <summary>The files of /proc have the length 0, and content.</summary>
    [Fact]
    public async Task Data_OfAFileWithoutLength_IsWhole()
        => Assert.Equal(
            await File.ReadAllTextAsync("/proc/version"),
            (await ToolRun.RunAsync("request", Address, "/", "-d", "@/proc/version")).Out);

    [Fact]
    public async Task Include_WritesStatusAndHeaders()
        => Assert.Matches(
            @"^Status: 200 OK\nContent-Type: text/plain; charset=utf-8\n(Content-Length: 5\n)?\nhello$",
            (await ToolRun.RunAsync("request", Address, "/", "-i")).Out);

    [Fact]
    public async Task Fail_OfAnErrorStatus_IsOne()
    {
        Assert.Equal((0, "", "said on standard error\n"), await ToolRun.RunAsync("request", Address, "/error"));
        Assert.Equal(1, (await ToolRun.RunAsync("request", Address, "/error", "--fail")).Code);
        Assert.Equal(0, (await ToolRun.RunAsync("request", Address, "/", "--fail")).Code);
    }

    [Fact]
    public async Task Head_ShowsHeaders() => Assert.StartsWith(
        "Status: 200 OK\n", (await ToolRun.RunAsync("request", Address, "/head", "-I")).Out);

    [Theory]
    [InlineData("/moved", "GET", "target: GET 0")]
    [InlineData("/see-other", "POST", "target: GET 0")]
    [InlineData("/kept", "POST", "target: POST 4")]
    public async Task Location_IsFollowed(string path, string method, string answer)
    {
        string[] data = method == "POST" ? ["-d", "data"] : [];

        Assert.Equal(
            (0, answer, ""), await ToolRun.RunAsync(["request", Address, "http://example.com" + path, "-L", .. data]));
        Assert.Equal("", (await ToolRun.RunAsync(["request", Address, path, .. data])).Out);
    }

    [Fact]
    public async Task Location_WithoutEnd_IsOne()
        => Assert.Equal(1, (await ToolRun.RunAsync("request", Address, "/loop", "-L")).Code);

    [Fact]
    public async Task Verbose_ShowsParametersAndRecords_AndNoSecrets()
    {
        string[] arguments = [
            "request", Address, "/", "-v", "-H", "Cookie: secret=1", "-H", "Authorization: Bearer secret", "-p",
            "SSL_CLIENT_CERT=secret"];

        var (_, _, error) = await ToolRun.RunAsync(arguments);
        Assert.Contains("* REQUEST_METHOD=GET\n", error);
        Assert.Contains("* HTTP_COOKIE=***\n", error);
        Assert.Matches(@"> +[0-9.]+ ms  BEGIN_REQUEST     id 1  8 bytes\n", error);
        Assert.Matches(@"< +[0-9.]+ ms  END_REQUEST       id 1  8 bytes\n", error);
        Assert.Contains("RequestComplete, appStatus 0", error);
        Assert.DoesNotContain("secret", error);

        Assert.Contains("* HTTP_COOKIE=secret=1\n", (await ToolRun.RunAsync([.. arguments, "--show-secrets"])).Error);
    }

    [Fact]
    public async Task Json_IsOneObject()
    {
        var (code, text, _) = await ToolRun.RunAsync("request", Address, "/", "--json", "-v", "-H", "Cookie: secret");
        var document = JsonDocument.Parse(text).RootElement;

        Assert.Equal((0, 200, "hello", "RequestComplete"), (
            code,
            document.GetProperty("status").GetInt32(),
            document.GetProperty("body").GetString(),
            document.GetProperty("protocolStatus").GetString()));
        Assert.True(document.GetProperty("records").GetArrayLength() > 4);
        Assert.DoesNotContain("secret", text);
        Assert.Contains(
            "no such socket",
            JsonDocument
                .Parse((await ToolRun.RunAsync("request", "unix:/nonexistent/app.sock", "/", "--json")).Out).RootElement
                .GetProperty("error")
                .GetString());
    }

    [Fact]
    public async Task Failures_HaveTheirCodes()
    {
        Assert.Equal(3, (await ToolRun.RunAsync("request", "unix:/nonexistent/app.sock", "/")).Code);

        var (code, _, error) = await ToolRun.RunAsync("request", Address, "/", "--role", "filter");
        Assert.Equal(1, code);
        Assert.Contains("UNKNOWN_ROLE", error);

        (code, _, error) = await ToolRun.RunAsync("request", Address, "/hold", "--timeout", "0.2");
        Assert.Equal(1, code);
        Assert.Contains("within 0.2 s", error);

        (code, _, error) = await ToolRun.RunAsync("request", Address, "/cut");
        Assert.Equal(1, code);
        Assert.Contains("fastcgi: ", error);
    }

    [Theory]
    [InlineData("request")]
    [InlineData("request", "nowhere", "/")]
    [InlineData("request", "127.0.0.1:9000", "relative")]
    [InlineData("request", "127.0.0.1:9000", "http:example.com/x")]
    [InlineData("request", "127.0.0.1:9000", "http:/example.com/x")]
    [InlineData("request", "127.0.0.1:9000", @"http:\\example.com\x")]
    [InlineData("request", "127.0.0.1:9000", "/", "-H", "no colon")]
    [InlineData("request", "127.0.0.1:9000", "/", "-p", "=x")]
    [InlineData("request", "127.0.0.1:9000", "/", "--timeout", "soon")]
    [InlineData("request", "127.0.0.1:9000", "/", "--no-such-option")]
    [InlineData("proxy", "127.0.0.1:9000", "--max-connections", "0")]
    [InlineData("request", "127.0.0.1:9000", "/", "-d", "@")]
    [InlineData("request", "127.0.0.1:9000", "/", "-o", "")]
    [InlineData("request", "127.0.0.1:9000", "/", "-X", "")]
    [InlineData("check", "127.0.0.1:9000", "--only", "nothing")]
    [InlineData("proxy", "127.0.0.1:9000", "--listen", "https://localhost")]
    [InlineData("proxy", "127.0.0.1:9000", "--listen", "http://example.com:8080")]
    [InlineData("proxy", "127.0.0.1:9000", "--listen", "http://localhost:8080/path")]
    [InlineData("record", "127.0.0.1:9000")]
    [InlineData("top", "nowhere")]
    [InlineData("config", "iis")]
    [InlineData("config", "nginx", "--name", "a;b")]
    [InlineData("config", "nginx", "--path-base", "/app")]
    [InlineData("config", "nginx", "--address", "/run/a b;")]
    [InlineData("config", "nginx", "--address", "nonsense")]
    [InlineData("config", "systemd", "--address", "/srv/a.sock")]
    [InlineData("check", "127.0.0.1:9000", "--path", "")]
    [InlineData("doctor", "nowhere")]
    [InlineData("doctor", "127.0.0.1:9000", "--server", "iis")]
    [InlineData("unknown")]
    public async Task Arguments_Invalid_ExitsWith2AndExplains(params string[] arguments)
    {
        var (code, _, error) = await ToolRun.RunAsync(arguments);

        Assert.Equal(2, code);
        Assert.NotEmpty(error);
    }

    [Theory, Values("request", "check", "proxy", "doctor", "top", "config")]
    public async Task Help_HasExamplesAndCodes(string command)
    {
        var (code, text, _) = await ToolRun.RunAsync(command, "--help");

        Assert.Equal(0, code);
        Assert.Contains($"  fastcgi {command} ", text);
        Assert.Contains("Exit codes: 0 ", text);
        Assert.Contains("--json", text);
    }
}
