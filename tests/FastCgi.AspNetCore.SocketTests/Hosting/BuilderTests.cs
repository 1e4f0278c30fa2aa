using Microsoft.AspNetCore.Hosting.Server.Features;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Every way to build a host, with only <c>UseFastCgi</c> added.</summary>
[Collection(Alone.Name)]
public sealed class BuilderTests
{
    private const string Address = "fastcgi://127.0.0.1:0";

    /// <summary>The empty builder has no server, logging, options, or configuration.</summary>
    [Theory, Values("usual", "slim", "empty")]
    public Task WebApplicationBuilder_Serves(string kind) => AssertServesAsync(kind switch
    {
        "usual" => WebApplication.CreateBuilder(),
        "slim" => WebApplication.CreateSlimBuilder(),
        _ => WebApplication.CreateEmptyBuilder(new WebApplicationOptions()),
    });

    [Theory, Values(true, false)]
    public Task HostBuilder_Serves(bool hasDefaults) => AssertServesAsync(
        hasDefaults
            ? Host.CreateDefaultBuilder().ConfigureWebHostDefaults(Configure)
            : new HostBuilder().ConfigureWebHost(Configure));

    /// <summary>AddNegotiate throws if the service is registered but not enabled.</summary>
    [Fact]
    [Contract("T21")]
    public async Task UseFastCgi_IntegratedAuthentication_NotRegistered()
    {
        var builder = WebApplication.CreateBuilder();
        builder.WebHost.UseFastCgi();

        await using var app = builder.Build();

        Assert.Null(app.Services.GetService<IServerIntegratedAuth>());
    }

    [Fact]
    public async Task UseKestrel_AfterUseFastCgi_KestrelServesAndAWarningIsLogged()
    {
        using var logs = new CollectedLogs();
        var builder = WebApplication.CreateBuilder();
        builder.Logging.AddProvider(logs);
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseKestrel();
        builder.WebHost.UseUrls("http://127.0.0.1:0");

        await using var app = await StartAsync(builder);
        using var client = new HttpClient();

        Assert.Equal("Hello", await client.GetStringAsync(new Uri(Assert.Single(app.Urls))));
        Assert.Equal(LogLevel.Warning, (await logs.SingleAsync("KestrelTookOver")).Level);
    }

    [Fact]
    public async Task UseFastCgi_OptionsInCode_OverrideTheConfiguration()
    {
        var builder = WebApplication.CreateBuilder();
        builder.Configuration["FastCgi:PathBase"] = "/configured";
        builder.Configuration["FastCgi:Limits:MaxRequestsPerConnection"] = "7";
        builder.WebHost.UseUrls(Address);
        builder.WebHost.UseFastCgi((context, options) =>
        {
            Assert.Equal(7, options.Limits.MaxRequestsPerConnection);
            options.PathBase = context.HostingEnvironment.IsProduction() ? "/code" : "/other";
        });

        await using var app = builder.Build();
        app.MapGet("/", (HttpContext context) => context.Request.PathBase.Value);
        await app.StartAsync();

        Assert.Equal("/code", await FastCgiClient.GetAsync(app.Urls.Single(), "/code/"));
    }

    /// <summary>
    /// Registration must not bind, inspect, or fail: tests and tools build applications without starting them.
    /// </summary>
    [Fact]
    public async Task Build_WithoutStart_NothingIsBound()
    {
        using var folder = new ScratchFolder();
        var socket = folder.GetPath("app.sock");
        var builder = WebApplication.CreateBuilder();
        builder.Configuration["FastCgi:Endpoints:Main:Url"] = $"fastcgi://unix:{socket}";
        builder.WebHost.UseFastCgi();

        await using var app = builder.Build();

        Assert.NotNull(app.Services.GetRequiredService<IServer>());
        Assert.False(File.Exists(socket));
    }

    private static async Task AssertServesAsync(WebApplicationBuilder builder)
    {
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseUrls(Address);
        await using var app = await StartAsync(builder);

        Assert.Equal("Hello", await FastCgiClient.GetAsync(Assert.Single(app.Urls)));
    }

    private static async Task<WebApplication> StartAsync(WebApplicationBuilder builder)
    {
        var app = builder.Build();
        app.Run(static context => context.Response.WriteAsync("Hello"));
        await app.StartAsync();
        return app;
    }

    private static async Task AssertServesAsync(IHostBuilder builder)
    {
        using var host = await builder.StartAsync();

        var addresses = host.Services.GetRequiredService<IServer>().Features
            .GetRequiredFeature<IServerAddressesFeature>().Addresses;
        Assert.Equal("Hello", await FastCgiClient.GetAsync(Assert.Single(addresses)));
        await host.StopAsync();
    }

    private static void Configure(IWebHostBuilder web)
        => web.UseFastCgi()
            .UseUrls(Address)
            .Configure(static app => app.Run(static context => context.Response.WriteAsync("Hello")));
}
