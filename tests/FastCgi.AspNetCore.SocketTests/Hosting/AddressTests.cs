using System.Net;
using System.Net.Sockets;
using System.Runtime.Versioning;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.HttpsPolicy;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Every place where an address can stand, and what the server says of where it listens.</summary>
[Collection(Alone.Name)]
public sealed class AddressTests : IDisposable
{
    private const string AnyPort = "fastcgi://127.0.0.1:0";
    private const string AnyHttpPort = "http://127.0.0.1:0";

    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();

    public void Dispose()
    {
        _folder.Dispose();
        _logs.Dispose();
    }

    [Fact]
    public async Task Urls_Added_ListenedOn()
    {
        await using var app = Build([]);
        app.Urls.Add(AnyPort);
        app.Urls.Add(UnixAddress);
        await app.StartAsync();

        Assert.Equal(2, app.Urls.Count);
        await AssertServesAsync(app.Urls);
    }

    [Fact]
    public async Task Run_WithAnAddress_ListenedOn()
    {
        await using var app = Build([]);
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        app.Lifetime.ApplicationStarted.Register(started.SetResult);

        var running = app.RunAsync(UnixAddress);
        await started.Task.WaitAsync(Waiting.Patience);
        await AssertServesAsync([UnixAddress]);
        app.Lifetime.StopApplication();

        await running.WaitAsync(Waiting.Patience);
    }

    [Fact]
    public async Task CommandLine_Urls_ListenedOn()
    {
        await using var app = await StartAsync("--urls", $"{AnyPort};{UnixAddress}");

        Assert.Equal(2, app.Urls.Count);
        await AssertServesAsync(app.Urls);
    }

    [UnixFact, UnsupportedOSPlatform("windows")]
    public async Task CommandLine_UrlWithOptions_AreThoseOfTheSocket()
    {
        await using var app = await StartAsync("--urls", UnixAddress + "?mode=0606&createDirectory=true");

        Assert.Equal([UnixAddress], app.Urls);
        Assert.Equal("606", Convert.ToString((int)File.GetUnixFileMode(UnixAddress["fastcgi://unix:".Length..]), 8));
        await AssertServesAsync(app.Urls);
        Assert.Single(_logs.All, static log => log.EventName is "SocketAccess" or "SocketOutOfReach");
    }

    [UnixFact, UnsupportedOSPlatform("windows")]
    public async Task AppSettings_UrlWithOptions_TheOwnSettingsOfTheEndpointComeFirst()
    {
        await WriteSettingsAsync($$"""
            { "FastCgi": { "Endpoints": { "Main": { "Url": "{{UnixAddress}}?mode=0606&backlog=7", "Mode": "0600" } } } }
            """);
        await using var app = await StartAsync();

        Assert.Equal("600", Convert.ToString((int)File.GetUnixFileMode(UnixAddress["fastcgi://unix:".Length..]), 8));
    }

    [Theory]
    [InlineData("?moed=0660", "'moed' is not an endpoint option")]
    [InlineData("?mode=0860", "a mode has three octal digits")]
    [InlineData("?group=no-such-group", "the group 'no-such-group' does not exist")]
    public async Task CommandLine_UrlWithBadOptions_ErrorSaysWhatIsWrong(string options, string reason)
    {
        await using var app = Build(["--urls", UnixAddress + options]);

        var error = await Assert.ThrowsAnyAsync<Exception>(() => app.StartAsync());

        Assert.Contains(reason, error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("true", AnyPort, 1)]
    [InlineData("TRUE", AnyPort, 1)]
    [InlineData("false", AnyPort, 0)]
    [InlineData("true", AnyHttpPort, 0)]
    public async Task ForwardedHeadersEnabled_BesideFastCgi_IsWarnedOf(string value, string address, int warnings)
    {
        await using var app = await StartAsync("--urls", address, "--ForwardedHeaders_Enabled", value);

        Assert.Equal(warnings, _logs.All.Count(static log => log is { EventName: "ForwardedHeadersEnabled", Level: LogLevel.Warning }));
    }

    [Theory]
    [InlineData("ASPNETCORE_URLS")]
    [InlineData("URLS")]
    [InlineData("FastCgi__Endpoints__Main__Url")]
    public async Task Environment_Address_ListenedOn(string variable)
    {
        Environment.SetEnvironmentVariable(variable, UnixAddress);
        try
        {
            await using var app = await StartAsync();

            Assert.Equal([UnixAddress], app.Urls);
            await AssertServesAsync(app.Urls);
        }
        finally
        {
            Environment.SetEnvironmentVariable(variable, null);
        }
    }

    [Fact]
    public async Task AppSettings_Endpoints_ListenedOn()
    {
        await WriteSettingsAsync($$"""
            { "FastCgi": { "Endpoints": { "Main": { "Url": "{{UnixAddress}}", "Backlog": 16 }, "Other": { "Url": "{{AnyPort}}" } } } }
            """);
        await using var app = await StartAsync();

        Assert.Equal(2, app.Urls.Count);
        await AssertServesAsync(app.Urls);
    }

    [Fact]
    public async Task Code_Endpoints_ListenedOnBesideTheOthers()
    {
        var builder = CreateBuilder("--urls", AnyPort);
        builder.WebHost.UseFastCgi(options =>
        {
            options.Listen(IPAddress.IPv6Loopback, 0);
            options.ListenAnyIP(0);
            options.ListenUnixSocket(_folder.GetPath("code.sock"));
        });
        await using var app = await StartAsync(builder);

        Assert.Equal(4, app.Urls.Count);
        await AssertServesAsync(app.Urls.Where(static address => !address.Contains("[::]", StringComparison.Ordinal)));
        var any = app.Urls.Single(static address => address.Contains("[::]", StringComparison.Ordinal));
        await AssertServesAsync([any.Replace("[::]", "[::1]", StringComparison.Ordinal), any.Replace("[::]", "127.0.0.1", StringComparison.Ordinal)]);
    }

    [Fact]
    public async Task Addresses_PortThatTheSystemChose_AreReal()
    {
        await using var app = await StartAsync("--urls", AnyPort);

        var address = Assert.Single(app.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>().Addresses);
        Assert.DoesNotContain(":0", address, StringComparison.Ordinal);
        Assert.Contains(_logs.All, log => log.Category == "Microsoft.Hosting.Lifetime" && log.Message == $"Now listening on: {address}");
    }

    [Fact]
    public async Task Addresses_ChangedAfterTheStart_Refused()
    {
        await using var app = await StartAsync("--urls", AnyPort);

        Assert.Throws<InvalidOperationException>(() => app.Urls.Add(UnixAddress));
        Assert.Throws<InvalidOperationException>(() => app.Urls.Clear());
    }

    [Fact]
    public async Task HttpAddress_BesideFastCgi_IsServedByKestrel()
    {
        await using var app = await StartAsync("--urls", $"{AnyHttpPort};{AnyPort}");

        Assert.Equal(["fastcgi", "http"], app.Urls.Select(static address => address.Split(':')[0]).Order());
        Assert.DoesNotContain(app.Urls, static address => address.EndsWith(":0", StringComparison.Ordinal));
        await AssertServesAsync(app.Urls.Where(IsFastCgi));
        await AssertServesHttpAsync(app.Urls.Single(static address => !IsFastCgi(address)));
    }

    [Fact]
    public async Task KestrelsOwnEndpoints_BesideFastCgi_AreServed()
    {
        await using var app = await StartAsync("--urls", AnyPort, "--Kestrel:Endpoints:Local:Url", AnyHttpPort);

        await AssertServesAsync(app.Urls.Where(IsFastCgi));
        await AssertServesHttpAsync(app.Urls.Single(static address => !IsFastCgi(address)));
    }

    /// <summary>The platform that starts the application knows better: hosting's switch reaches Kestrel.</summary>
    [Fact]
    public async Task PreferHostingUrls_KestrelsOwnEndpoints_AreOverridden()
    {
        await using var app = await StartAsync(
            "--urls", $"{AnyPort};{AnyHttpPort}", "--preferHostingUrls", "true", "--Kestrel:Endpoints:Local:Url", $"http://unix:{_folder.GetPath("http.sock")}");

        Assert.Equal(2, app.Urls.Count);
        await AssertServesHttpAsync(app.Urls.Single(static address => !IsFastCgi(address)));
    }

    /// <summary>Those of Kestrel are an application's wish as much as those of FastCGI.</summary>
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task KestrelsEndpointsInCode_AreServedByKestrel(bool hasFastCgi)
    {
        var builder = CreateBuilder(hasFastCgi ? ["--urls", UnixAddress] : []);
        builder.WebHost.UseFastCgi();
        builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Listen(System.Net.IPAddress.Loopback, 0));
        await using var app = Build(builder);
        await app.StartAsync();

        await AssertServesHttpAsync(app.Urls.Single(static address => !IsFastCgi(address)));
        await AssertServesAsync(app.Urls.Where(IsFastCgi));
        Assert.Equal(hasFastCgi ? 2 : 1, app.Urls.Count);
        Assert.Equal(!hasFastCgi, _logs.All.Any(static log => log.EventName == "OnlyHttp"));
    }

    /// <summary>A socket of IPv6 does not take it unless it is for both.</summary>
    [Fact]
    public async Task AddressOfIPv4InIPv6_IsThatOfIPv4()
    {
        await using var app = await StartAsync("--urls", "fastcgi://[::ffff:127.0.0.1]:0");

        Assert.StartsWith(AnyPort[..^1], Assert.Single(app.Urls), StringComparison.Ordinal);
        await AssertServesAsync(app.Urls);
    }

    [Theory]
    [InlineData("Production", AnyHttpPort, 1)]
    [InlineData("Development", AnyHttpPort, 0)]
    [InlineData("Development", AnyPort, 1)]
    public async Task KestrelRegisteredBehindFastCgi_IsWarnedOf(string environment, string address, int warnings)
    {
        var builder = CreateBuilder("--urls", address, "--environment", environment);
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseKestrel();
        await using var app = Build(builder);

        await Record.ExceptionAsync(() => app.StartAsync());

        Assert.Equal(warnings, _logs.All.Count(static log => log is { EventName: "KestrelTookOver", Level: LogLevel.Warning }));
    }

    [Fact]
    public async Task HttpAddress_Alone_IsServedByKestrelWithALine()
    {
        await using var app = await StartAsync("--urls", AnyHttpPort);

        await AssertServesHttpAsync(Assert.Single(app.Urls));
        Assert.Contains(_logs.All, static log => log is { EventName: "OnlyHttp", Level: LogLevel.Warning });
    }

    [Theory]
    [InlineData(true, "Production", AnyPort, null, null, true, true)]
    [InlineData(true, "Production", AnyPort, null, null, false, false)]
    [InlineData(false, "Production", AnyPort, null, null, true, false)]
    [InlineData(true, "Development", AnyPort, null, null, true, false)]
    [InlineData(true, "Production", AnyHttpPort, null, null, true, false)]
    [InlineData(true, "Production", AnyPort, "443", null, true, false)]
    [InlineData(true, "Production", AnyPort, null, 443, true, false)]
    public async Task HttpsRedirection_WithoutAPort_IsReported(
        bool isUsed, string environment, string address, string? setting, int? option, bool isAdviceEnabled, bool isReported)
    {
        var builder = CreateBuilder("--urls", address, "--environment", environment);
        builder.Configuration["https_port"] = setting;
        builder.Services.Configure<HttpsRedirectionOptions>(options => options.HttpsPort = option);
        builder.WebHost.UseFastCgi(options => options.EnableAdvice = isAdviceEnabled);
        await using var app = Build(builder);
        if (isUsed)
            app.UseHttpsRedirection();

        await app.StartAsync();

        var messages = _logs.All.Where(static log => log is { EventName: "HttpsPortUnknown", Level: LogLevel.Warning }).Select(static log => log.Message);
        Assert.Equal(isReported ? 1 : 0, messages.Count(static message => message.Contains("ASPNETCORE_HTTPS_PORT=443", StringComparison.Ordinal)));
    }

    [Fact]
    [Trait("Contract", "T6")]
    public async Task HttpPorts_BesideFastCgi_AreNotListenedOn()
    {
        await using var app = await StartAsync("--http_ports", "0", "--FastCgi:Endpoints:Main:Url", UnixAddress);

        Assert.Equal([UnixAddress], app.Urls);
        Assert.Contains(_logs.All, static log => log.EventName == "PortsDropped");
    }

    [Fact]
    public async Task HttpAddress_WithoutAnHttpServer_ErrorSaysWhatToDo()
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseUrls($"{AnyHttpPort};{UnixAddress}");
        await using var app = builder.Build();

        var error = await Assert.ThrowsAsync<InvalidOperationException>(() => app.StartAsync());

        Assert.Contains("UseKestrelCore", error.Message, StringComparison.Ordinal);
        Assert.False(File.Exists(_folder.GetPath("app.sock")));
    }

    [Theory]
    [InlineData("tcp://127.0.0.1:9000")]
    [InlineData("fastcgi://127.0.0.1")]
    [InlineData("fastcgi://example.com:9000")]
    public async Task Address_UnknownForm_ErrorShowsItAndTheForms(string address)
    {
        await using var app = Build(["--urls", address]);

        var error = await Assert.ThrowsAsync<FormatException>(() => app.StartAsync());

        Assert.Contains($"'{address}'", error.Message, StringComparison.Ordinal);
        Assert.Contains("Valid forms are ", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Configuration_UnknownName_ErrorNamesIt()
    {
        await WriteSettingsAsync("""{ "FastCgi": { "Limits": { "MaxRequestBodySzie": 1 } } }""");
        await using var app = Build([]);

        var error = await Assert.ThrowsAsync<InvalidOperationException>(() => app.StartAsync());

        Assert.Contains("FastCgi:Limits:MaxRequestBodySzie is not an option", error.Message, StringComparison.Ordinal);
    }

    private string UnixAddress => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

    private static bool IsFastCgi(string address) => address.StartsWith("fastcgi:", StringComparison.Ordinal);

    private static async Task AssertServesAsync(IEnumerable<string> addresses)
    {
        foreach (var address in addresses)
            Assert.Equal("Hello", await FastCgiClient.GetAsync(address));
    }

    private static async Task AssertServesHttpAsync(string address)
    {
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        Assert.Equal("Hello", await client.GetStringAsync(new Uri(address)));
    }

    private async Task WriteSettingsAsync(string json) => await File.WriteAllTextAsync(_folder.GetPath("appsettings.json"), json);

    private WebApplicationBuilder CreateBuilder(params string[] arguments)
    {
        var builder = WebApplication.CreateBuilder(new WebApplicationOptions { Args = arguments, ContentRootPath = _folder.Path });
        builder.Logging.ClearProviders().AddProvider(_logs);
        return builder;
    }

    private WebApplication Build(string[] arguments)
    {
        var builder = CreateBuilder(arguments);
        builder.WebHost.UseFastCgi();
        return Build(builder);
    }

    private static WebApplication Build(WebApplicationBuilder builder)
    {
        var app = builder.Build();
        app.MapGet("/", static () => "Hello");
        return app;
    }

    private static async Task<WebApplication> StartAsync(WebApplicationBuilder builder)
    {
        var app = Build(builder);
        await app.StartAsync();
        return app;
    }

    private async Task<WebApplication> StartAsync(params string[] arguments)
    {
        var app = Build(arguments);
        await app.StartAsync();
        return app;
    }
}
