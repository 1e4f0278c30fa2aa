using System.Net;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.SocketTests.Hosting;
using FastCgi.AspNetCore.Status;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>The status says what is so, to whom it may, in each form.</summary>
[Collection(Alone.Name)]
public sealed class StatusTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly SemaphoreSlim _entered = new(0);
    private readonly TaskCompletionSource _go = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private string Address => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    public void Dispose()
    {
        _entered.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task Json_WhileRequestsRun_ShowsThemAndTheirConnections()
    {
        await using var app = await StartAsync();
        using var slow = await FastCgiClient.ConnectAsync(Address);
        await slow.SendAsync("/slow?token=secret", keepConnection: false);
        Assert.True(await _entered.WaitAsync(Waiting.Patience));

        var status = await GetJsonAsync("/fastcgi-status?format=json");

        Assert.Equal("running", status.GetProperty("state").GetString());
        Assert.Equal(2, status.GetProperty("connections").GetProperty("active").GetInt64());
        Assert.Equal(2, status.GetProperty("requests").GetProperty("active").GetInt64());
        var request = Assert.Single(status.GetProperty("activeRequests").EnumerateArray(), static request => request.GetProperty("path").GetString() == "/slow");
        Assert.Equal("GET", request.GetProperty("method").GetString());
        Assert.Equal("192.0.2.7", request.GetProperty("client").GetString());
        Assert.Equal("in the application", request.GetProperty("state").GetString());
        Assert.DoesNotContain("secret", status.GetRawText(), StringComparison.Ordinal);
        Assert.Equal(2, status.GetProperty("openConnections").GetArrayLength());
        Assert.Contains(status.GetProperty("endpoints").EnumerateArray(), endpoint => endpoint.GetString() == Address);
        _go.SetResult();
        Assert.Equal("slow", await slow.ReadTextAsync());
    }

    [Fact]
    public async Task Json_BehindRequests_CountsThemAndTheirBytes()
    {
        await using var app = await StartAsync();
        using var client = await FastCgiClient.ConnectAsync(Address);
        for (var i = 0; i < 5; i++)
            await client.GetAsync("/");

        var before = await GetJsonAsync("/fastcgi-status?json");
        for (var i = 0; i < 7; i++)
            await client.GetAsync("/");
        var after = await GetJsonAsync("/fastcgi-status?json");

        Assert.Equal(6, before.GetProperty("requests").GetProperty("total").GetInt64());
        Assert.Equal(14, after.GetProperty("requests").GetProperty("total").GetInt64());
        Assert.Equal(3, after.GetProperty("connections").GetProperty("total").GetInt64() + 0L);
        Assert.True(after.GetProperty("connections").GetProperty("bytesReceived").GetInt64() > 7 * RecordBytes.Get().Length);
        Assert.True(after.GetProperty("recent").GetProperty("measured").GetInt64() >= 7);
        Assert.True(after.GetProperty("recent").GetProperty("p99").GetDouble() > 0);
        Assert.Equal("nginx/1.22.1", Assert.Single(after.GetProperty("frontEnds").EnumerateArray()).GetProperty("software").GetString());
    }

    [Fact]
    public async Task OpenMetrics_IsWellFormedAndAgreesWithJson()
    {
        await using var app = await StartAsync();

        var text = await GetTextAsync("/fastcgi-status?format=openmetrics");

        Assert.EndsWith("# EOF\n", text, StringComparison.Ordinal);
        Assert.Contains("\nfastcgi_server_requests_total 1\n", text, StringComparison.Ordinal);
        var names = new HashSet<string>();
        foreach (var line in text.Split('\n', StringSplitOptions.RemoveEmptyEntries))
        {
            if (line.StartsWith("# TYPE ", StringComparison.Ordinal))
                Assert.True(names.Add(line.Split(' ')[2]), line);
            else if (!line.StartsWith('#'))
                Assert.Matches("^fastcgi_server_[a-z_0-9]+({[a-z_0-9]+=\"[^\"]*\"})? -?[0-9.E+-]+$", line);
        }
    }

    [Theory]
    [InlineData("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "text/html; charset=utf-8")]
    [InlineData("application/json", "application/json")]
    [InlineData("text/html;q=0.5,application/json", "application/json")]
    [InlineData("application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "application/openmetrics-text; version=1.0.0; charset=utf-8")]
    [InlineData("*/*", "text/html; charset=utf-8")]
    public async Task Format_OfWhatTheClientAccepts(string accept, string contentType)
    {
        await using var app = await StartAsync();

        Assert.Contains($"Content-Type: {contentType}\r\n", await GetAsync("/fastcgi-status", "127.0.0.1", ("HTTP_ACCEPT", accept)), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("GET", "/fastcgi-status?format=xml", "400")]
    [InlineData("POST", "/fastcgi-status", "405")]
    public async Task Request_ThatIsNotOne_IsRefused(string method, string uri, string statusCode)
    {
        await using var app = await StartAsync();

        Assert.Contains($"Status: {statusCode}", await GetAsync(uri, "127.0.0.1", method: method), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Format_ThatIsNotKnown_IsNotRepeated()
    {
        await using var app = await StartAsync();

        var answer = await GetAsync("/fastcgi-status?format=<script>alert(1)</script>", "127.0.0.1");

        Assert.Contains("Content-Type: text/plain", answer, StringComparison.Ordinal);
        Assert.DoesNotContain("script", answer, StringComparison.Ordinal);
    }

    /// <summary>That is when somebody looks.</summary>
    [Fact]
    public async Task Status_WithoutADescriptorLeft_IsShown()
    {
        if (!OperatingSystem.IsLinux())
            return;

        await using var app = await StartAsync();
        var reader = StatusEndpoint.MakeReader((FastCgiServer)app.Services.GetRequiredService<IServer>(), app.Services);
        Assert.NotNull(reader.Read());
        StatusSnapshot? status;
        using (new DescriptorShortage())
            status = reader.Read();

        Assert.Null(status!.Resources.Descriptors);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Client_OfAPolicy_IsLetThroughByItAlone(bool isOpen)
    {
        await using var app = await StartAsync(map: app => _ = isOpen
            ? app.MapFastCgiStatus("/open").AllowAnonymous()
            : app.MapFastCgiStatus("/open").RequireAuthorization("nobody"));

        var answer = await GetAsync("/open?json", "192.0.2.7");

        Assert.Equal(isOpen, answer.Contains("\"processId\"", StringComparison.Ordinal));
    }

    /// <summary>No text of a client ends the script element, or becomes markup.</summary>
    [Fact]
    public async Task Page_WithHostilePath_HasItEscaped()
    {
        await using var app = await StartAsync();
        using var slow = await FastCgiClient.ConnectAsync(Address);
        await slow.SendAsync("/slow/</script><script>alert(1)</script>", keepConnection: false);
        Assert.True(await _entered.WaitAsync(Waiting.Patience));

        var page = await GetAsync("/fastcgi-status", "127.0.0.1");

        Assert.DoesNotContain("<script>alert", page, StringComparison.Ordinal);
        Assert.Contains("script\\u003Ealert(1)", page, StringComparison.Ordinal);
        Assert.Matches("Content-Security-Policy: default-src 'none'; .*script-src 'nonce-", page);
        _go.SetResult();
        Assert.Equal("slow", await slow.ReadTextAsync());
    }

    [Fact]
    public async Task Recommendations_OfWhatWasLogged_NameTheLineToAdd()
    {
        await using var app = await StartAsync();
        using (var client = await FastCgiClient.ConnectAsync(Address))
        {
            await client.SendAsync([.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, ("REQUEST_URI", "/")), .. RecordBytes.Record(RecordBytes.Stdin, 1)]);
            await client.ReadRecordAsync();
        }

        var status = await GetJsonAsync("/fastcgi-status?json");

        var finding = Assert.Single(status.GetProperty("recommendations").EnumerateArray(), static finding => finding.GetProperty("name").GetString() == "ParametersMissing");
        Assert.Contains("include fastcgi_params;", finding.GetProperty("message").GetString(), StringComparison.Ordinal);
        Assert.Equal(1, status.GetProperty("requests").GetProperty("rejected").GetProperty("400 MissingMethod").GetInt64());
    }

    [Fact]
    public async Task Status_OfAnotherServer_SaysSo()
    {
        var builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrel().UseUrls("http://127.0.0.1:0");
        await using var app = builder.Build();
        app.MapFastCgiStatus().AllowAnonymous();
        await app.StartAsync();

        using var http = new HttpClient();
        var answer = await http.GetAsync(app.Urls.Single() + "/fastcgi-status");

        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Contains("not FastCgi.AspNetCore", await answer.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    /// <summary>When the application has no place left is when somebody wants to know why.</summary>
    [Theory]
    [InlineData("/fastcgi-status?json")]
    [InlineData("/group/status?json")]
    [InlineData("/rooted?json")]
    public async Task Status_WhileTheApplicationHasNoRoom_IsShown(string uri)
    {
        await using var app = await StartAsync(static options => options.Limits.MaxConcurrentRequests = 1, static app =>
        {
            app.MapGroup("/group").MapFastCgiStatus("/status").AllowAnonymous();
            app.MapFastCgiStatus("~/rooted").AllowAnonymous();
        });
        using var slow = await FastCgiClient.ConnectAsync(Address);
        await slow.SendAsync("/slow", keepConnection: false);
        Assert.True(await _entered.WaitAsync(Waiting.Patience));

        var status = await GetJsonAsync(uri);

        Assert.Equal(2, status.GetProperty("requests").GetProperty("active").GetInt64());
        Assert.Contains("Status: 503", await GetAsync("/", "192.0.2.7"), StringComparison.Ordinal);
        _go.SetResult();
        Assert.Equal("slow", await slow.ReadTextAsync());
    }

    /// <summary>An endpoint that cannot be made fails the requests, as with other servers, and not the start.</summary>
    [Fact]
    public async Task Start_BesideAnEndpointThatCannotBeMade_Starts()
    {
        // Without authorization, which asks for all endpoints at the start itself.
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.WebHost.UseFastCgi().UseUrls(Address);
        await using var app = builder.Build();
        app.MapFastCgiStatus();
        app.MapGet("/bad", static (StatusTests body) => "x");

        await app.StartAsync();

        Assert.Contains("Status: 500", await GetAsync("/", "192.0.2.7"), StringComparison.Ordinal);
    }

    /// <summary>A policy without an attribute does not count: where the middleware is not, nobody asks it.</summary>
    [Fact]
    public async Task Start_WithStatusEndpoints_SaysWhoSeesThem()
    {
        var logs = new CollectedLogs();
        await using var app = await StartAsync(
            map: static app =>
            {
                app.MapFastCgiStatus("/nobody");
                app.MapFastCgiStatus("/some").RequireAuthorization("nobody");
                app.MapFastCgiStatus("/policy").WithMetadata(new AuthorizationPolicyBuilder().RequireAuthenticatedUser().Build());
            },
            services: services => services.AddLogging(logging => logging.AddProvider(logs)));

        Assert.Equal(
            ["/fastcgi-status anyone who can reach it", "/nobody", "/policy", "/some users whom its authorization policy admits"],
            logs.All.Where(static log => log.EventName is "StatusShown" or "StatusNotShown")
                .Select(static log => Regex.Match(log.Message, "^The status at (/.*?) is visible to (.*?)[.:]").Result("$1 $2").Replace(" no one", "", StringComparison.Ordinal)).Order(StringComparer.Ordinal));
        Assert.Contains("Status: 403", await GetAsync("/nobody", "127.0.0.1"), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("GET", "/ping", "Status: 200", "pong\n")]
    [InlineData("HEAD", "/ping", "Status: 200", null)]
    [InlineData("POST", "/ping", "Status: 404", null)]
    [InlineData("GET", "/ping/more", "Status: 404", null)]
    public async Task Ping_IsAnsweredByTheServer(string method, string path, string status, string? body)
    {
        await using var app = await StartAsync(options =>
        {
            options.PingPath = "/ping";
            options.Limits.MaxConcurrentRequests = 1;
        });
        using var slow = await FastCgiClient.ConnectAsync(Address);
        if (method != "POST" && path == "/ping")
        {
            await slow.SendAsync("/slow", keepConnection: false);
            Assert.True(await _entered.WaitAsync(Waiting.Patience));
        }

        var answer = await GetAsync(path, "192.0.2.7", method: method);

        Assert.Contains(status, answer, StringComparison.Ordinal);
        if (body is not null)
            Assert.EndsWith(body, answer, StringComparison.Ordinal);
        _go.SetResult();
    }

    [Fact]
    public async Task Health_FollowsTheServer()
    {
        await using var app = await StartAsync(options =>
        {
            options.Limits.MaxConcurrentRequests = 1;
        });
        var health = app.Services.GetRequiredService<HealthCheckService>();
        Assert.Equal(HealthStatus.Healthy, (await health.CheckHealthAsync()).Status);

        using var slow = await FastCgiClient.ConnectAsync(Address);
        await slow.SendAsync("/slow", keepConnection: false);
        Assert.True(await _entered.WaitAsync(Waiting.Patience));
        var full = await health.CheckHealthAsync();
        Assert.Equal(HealthStatus.Degraded, full.Status);
        Assert.Contains("MaxConcurrentRequests is 1", Assert.Single(full.Entries).Value.Description, StringComparison.Ordinal);

        _go.SetResult();
        Assert.Equal("slow", await slow.ReadTextAsync());
        await app.StopAsync();
        Assert.Equal(HealthStatus.Unhealthy, (await health.CheckHealthAsync()).Status);
    }

    private async Task<JsonElement> GetJsonAsync(string uri)
    {
        using var document = JsonDocument.Parse(await GetTextAsync(uri));
        return document.RootElement.Clone();
    }

    private async Task<string> GetTextAsync(string uri)
    {
        var answer = await GetAsync(uri, "127.0.0.1");
        return answer[(answer.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];
    }

    /// <summary>The whole answer to a client with an address.</summary>
    private async Task<string> GetAsync(string uri, string client, (string Name, string Value)? header = null, string method = "GET")
    {
        (string Name, string Value)[] more = header is { } given ? [given] : [];
        var parameters = RecordBytes.RequestParams(method, uri, more).Select(pair => pair.Name == "REMOTE_ADDR" ? (pair.Name, client) : pair).ToArray();
        using var connection = await FastCgiClient.ConnectAsync(Address);
        await connection.SendAsync([.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters), .. RecordBytes.Record(RecordBytes.Stdin, 1)]);
        return Encoding.UTF8.GetString(await connection.ReadResponseAsync());
    }

    private async Task<WebApplication> StartAsync(Action<FastCgiServerOptions>? configure = null, Action<WebApplication>? map = null, Action<IServiceCollection>? services = null)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders();
        builder.Services.AddAuthentication().AddFastCgi();
        builder.Services.AddAuthorizationBuilder().AddPolicy("nobody", static policy => policy.RequireAssertion(static _ => false));
        builder.Services.AddHealthChecks().AddFastCgi();
        builder.WebHost.UseFastCgi(options => configure?.Invoke(options));
        builder.WebHost.UseUrls(Address);
        services?.Invoke(builder.Services);
        var app = builder.Build();
        app.MapFastCgiStatus().AllowAnonymous();
        map?.Invoke(app);
        app.MapGet("/", static () => "fast");
        app.MapGet("/slow/{**rest}", async () =>
        {
            _entered.Release();
            await _go.Task;
            return "slow";
        });
        await app.StartAsync();
        return app;
    }
}
