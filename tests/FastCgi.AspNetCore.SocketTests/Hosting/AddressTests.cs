using Microsoft.Extensions.Configuration;
using System.Runtime.Versioning;
using Microsoft.AspNetCore.Hosting.Server.Features;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Every source of addresses, and the addresses that the server reports.</summary>
[Collection(Alone.Name)]
public sealed class AddressTests : HostTest
{
    private const string AnyPort = "fastcgi://127.0.0.1:0";
    private const string AnyHttpPort = "http://127.0.0.1:0";

    [Fact]
    public async Task Urls_Added_ListenedOn()
    {
        await using var app = Build([]);
        app.Urls.Add(AnyPort);
        app.Urls.Add(Address);
        await app.StartAsync();

        Assert.Equal(2, app.Urls.Count);
        await AssertServesAsync(app.Urls);
    }

    /// <summary>Most templates call UseHttpsRedirection.</summary>
    [Theory]
    [InlineData("Production", "", true)]
    [InlineData("Production", "443", false)]
    [InlineData("Development", "", false)]
    public async Task HttpsRedirection_WithoutAPort_IsAWarning(string environment, string port, bool isReported)
    {
        var builder = CreateBuilder("--urls", Address, "--environment", environment, "--https_port", port);
        builder.WebHost.UseFastCgi();
        await using var app = Build(builder);
        app.UseHttpsRedirection();
        await app.StartAsync();

        var messages = Logs.All.Where(static log => log is { EventName: "HttpsPortUnknown", Level: LogLevel.Warning })
            .Select(static log => log.Message)
            .ToList();
        Assert.Equal(isReported ? 1 : 0, messages.Count);
        Assert.All(messages, static message => Assert.Contains("ASPNETCORE_HTTPS_PORT=443", message));
    }

    [LinuxFact, UnsupportedOSPlatform("windows")]
    public async Task CommandLine_UrlWithOptions_SocketHasThem()
    {
        await using var app = await StartAsync("--urls", Address + "?mode=0606&createDirectory=true");

        Assert.Equal([Address], app.Urls);
        Assert.Equal("606", Convert.ToString((int)File.GetUnixFileMode(Address["fastcgi://unix:".Length..]), 8));
        await AssertServesAsync(app.Urls);
        Assert.Single(Logs.All, static log => log.EventName is "SocketAccess" or "SocketOutOfReach");
    }

    [LinuxFact, UnsupportedOSPlatform("windows")]
    public async Task AppSettings_UrlWithOptions_TheOwnSettingsOfTheEndpointComeFirst()
    {
        await WriteSettingsAsync($$"""
            { "FastCgi": { "Endpoints": { "Main": { "Url": "{{Address}}?mode=0606&backlog=7", "Mode": "0600" } } } }
            """);
        await using var app = await StartAsync();

        Assert.Equal("600", Convert.ToString((int)File.GetUnixFileMode(Address["fastcgi://unix:".Length..]), 8));
    }

    [Theory]
    [InlineData("true", AnyPort, 1)]
    [InlineData("TRUE", AnyPort, 1)]
    [InlineData("false", AnyPort, 0)]
    [InlineData("true", AnyHttpPort, 0)]
    public async Task ForwardedHeadersEnabled_BesideFastCgi_IsWarnedOf(string value, string address, int warnings)
    {
        await using var app = await StartAsync("--urls", address, "--ForwardedHeaders_Enabled", value);

        Assert.Equal(
            warnings,
            Logs.All.Count(static log => log is { EventName: "ForwardedHeadersEnabled", Level: LogLevel.Warning }));
    }

    [Theory]
    [InlineData("ASPNETCORE_URLS")]
    [InlineData("URLS")]
    [InlineData("FastCgi__Endpoints__Main__Url")]
    public async Task Environment_Address_ListenedOn(string variable)
    {
        Environment.SetEnvironmentVariable(variable, Address);
        try
        {
            await using var app = await StartAsync();

            Assert.Equal([Address], app.Urls);
            await AssertServesAsync(app.Urls);
        }
        finally
        {
            Environment.SetEnvironmentVariable(variable, null);
        }
    }

    [Fact]
    public async Task Code_Endpoints_ListenedOnBesideTheOthers()
    {
        var builder = CreateBuilder("--urls", AnyPort);
        builder.WebHost.UseFastCgi(options =>
        {
            options.Listen(IPAddress.IPv6Loopback, 0);
            options.ListenAnyIP(0);
            options.ListenUnixSocket(Folder.GetPath("code.sock"));
        });
        await using var app = await StartAsync(builder);

        Assert.Equal(4, app.Urls.Count);
        await AssertServesAsync(app.Urls.Where(static address => !address.Contains("[::]")));
        var any = app.Urls.Single(static address => address.Contains("[::]"));
        await AssertServesAsync(
            [
                any.Replace("[::]", "[::1]"),
                any.Replace("[::]", "127.0.0.1"),
            ]);
    }

    [Fact]
    public async Task Addresses_PortChosenBySystem_AreActual()
    {
        await using var app = await StartAsync("--urls", AnyPort);

        var address = Assert.Single(
            app.Services.GetRequiredService<IServer>().Features
                .GetRequiredFeature<IServerAddressesFeature>().Addresses);
        Assert.DoesNotContain(":0", address);
        Assert.Contains(
            Logs.All,
            log => log.Category == "Microsoft.Hosting.Lifetime" && log.Message == $"Now listening on: {address}");
    }

    /// <summary>Otherwise, a web server that has vanished would never be noticed.</summary>
    [LinuxTheory, EveryEngine]
    public async Task Connection_OverTcp_IsKeptAlive(Engine engine)
    {
        await using var app = await StartAsync(engine, AnyPort);
        using var client = await FastCgiClient.ConnectAsync(app.Urls.Single());
        Assert.Equal("Hello", await client.GetAsync("/"));

        // The server's end: an established connection whose timer is that of keep-alive.
        var ports = $":{new Uri(app.Urls.Single()).Port:X4} 0100007F:{client.LocalPort:X4} 01 ";
        await Waiting.UntilAsync(
            () => File.ReadAllLines("/proc/net/tcp").Any(line => line.Contains(ports)
                && line.Contains(" 02:")),
            "the timer");
    }

    [Theory]
    [InlineData("--urls", $"{AnyHttpPort};{AnyPort}")]
    [InlineData("--urls", AnyPort, "--Kestrel:Endpoints:Local:Url", AnyHttpPort)]
    [InlineData(
        "--urls", $"{AnyPort};{AnyHttpPort}", "--preferHostingUrls", "true", "--Kestrel:Endpoints:Overridden:Url",
        "http://unix:/no/such/folder")]
    public async Task HttpAddress_BesideFastCgi_IsServedByKestrel(params string[] arguments)
    {
        await using var app = await StartAsync(arguments);

        Assert.Equal(["fastcgi", "http"], app.Urls.Select(static address => address.Split(':')[0]).Order());
        Assert.DoesNotContain(app.Urls, static address => address.EndsWith(":0", StringComparison.Ordinal));
        await AssertServesAsync(app.Urls.Where(IsFastCgi));
        await AssertServesHttpAsync(app.Urls.Single(static address => !IsFastCgi(address)));
    }

    /// <summary>As in docs/migration.md: UsePathBase remains for Kestrel, which has no PATH_BASE.</summary>
    [Fact]
    public async Task UsePathBase_BesideFastCgiPathBase_BothAgree()
    {
        var builder = CreateBuilder("--urls", $"{AnyPort};{AnyHttpPort}", "--FastCgi:PathBase", "/app");
        builder.WebHost.UseFastCgi();
        await using var app = builder.Build();
        app.UsePathBase("/app");
        app.Run(static context => context.Response.WriteAsync($"{context.Request.PathBase} {context.Request.Path}"));
        await app.StartAsync();
        using var client = new HttpClient();

        Assert.Equal(
            "/app /x",
            await client.GetStringAsync(new Uri(app.Urls.Single(static address => !IsFastCgi(address)) + "/app/x")));
        Assert.Equal("/app /x", await FastCgiClient.GetAsync(app.Urls.Single(IsFastCgi), "/app/x"));
    }

    /// <summary>Endpoints of Kestrel are as explicit as those of FastCGI.</summary>
    [Theory, Values(true, false)]
    public async Task KestrelsEndpointsInCode_AreServedByKestrel(bool hasFastCgi)
    {
        var builder = CreateBuilder(hasFastCgi ? ["--urls", Address] : []);
        builder.WebHost.UseFastCgi();
        builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Listen(System.Net.IPAddress.Loopback, 0));
        await using var app = Build(builder);
        await app.StartAsync();

        await AssertServesHttpAsync(app.Urls.Single(static address => !IsFastCgi(address)));
        await AssertServesAsync(app.Urls.Where(IsFastCgi));
        Assert.Equal(hasFastCgi ? 2 : 1, app.Urls.Count);
        Assert.Equal(!hasFastCgi, Logs.All.Any(static log => log.EventName == "OnlyHttp"));
    }

    /// <summary>The server reads its settings at the start; Kestrel rebinds its own endpoints.</summary>
    [Theory, Values("fastcgi://127.0.0.1:0", "nonsense")]
    public async Task Settings_ChangeWhileTheServerRuns_HaveNoEffectUntilTheNextStart(string url)
    {
        await WriteSettingsAsync(Describe(Address, "PathBase", ""));
        await using var app = await StartAsync();
        await WriteSettingsAsync(Describe(url, url == "nonsense" ? "NoSuchSetting" : "PathBase", "/changed"));

        ((IConfigurationRoot)app.Configuration).Reload();

        Assert.Equal(url, app.Configuration["FastCgi:Endpoints:Main:Url"]);
        Assert.Equal(Address, Assert.Single(app.Urls));
        await AssertServesAsync([Address]);
        Assert.DoesNotContain(Logs.All, static log => log.Level >= LogLevel.Error);

        static string Describe(string url, string option, string value)
            => $$"""{ "FastCgi": { "Endpoints": { "Main": { "Url": "{{url}}" } }, "{{option}}": "{{value}}" } }""";
    }

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
}
