using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Kestrel options with an equivalent apply, and the others are reported.</summary>
[Collection(Alone.Name)]
public sealed class KestrelOptionsTests : HostTest
{
    private readonly WebApplicationBuilder _builder;

    public KestrelOptionsTests() => _builder = CreateBuilder("--urls", "fastcgi://127.0.0.1:0");

    [Fact]
    public async Task SetThroughServicesOrConfigureKestrel_BeforeOrAfterUseFastCgi_Applies()
    {
        _builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Limits.MaxConcurrentConnections = 50);
        _builder.Services.Configure<KestrelServerOptions>(static kestrel => kestrel.AllowSynchronousIO = true);
        _builder.WebHost.UseFastCgi();
        _builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Limits.MaxRequestBodySize = null);

        var (options, _) = await StartAsync();

        Assert.True(options.AllowSynchronousIO);
        Assert.Null(options.Limits.MaxRequestBodySize);
        Assert.Equal(50, options.Limits.MaxConcurrentConnections);
    }

    [Fact]
    public async Task SetForFastCgiToo_FastCgiCounts()
    {
        _builder.Services.Configure<FastCgiServerOptions>(
            static options => options.Limits.MaxConcurrentConnections = 70);
        _builder.Configuration["FastCgi:Limits:MaxRequestBodySize"] = "30000000";
        _builder.WebHost.UseFastCgi(static options => options.AllowSynchronousIO = false);
        _builder.WebHost.ConfigureKestrel(static kestrel =>
        {
            kestrel.AllowSynchronousIO = true;
            kestrel.Limits.MaxRequestBodySize = null;
            kestrel.Limits.MaxConcurrentConnections = 50;
            kestrel.Limits.MaxRequestBufferSize = 2_000_000;
        });

        var (options, line) = await StartAsync();

        Assert.False(options.AllowSynchronousIO);
        Assert.Equal(
            (30_000_000, 70, 2_000_000),
            (options.Limits.MaxRequestBodySize, options.Limits.MaxConcurrentConnections,
                options.Limits.MaxRequestBufferSize));
        Assert.Contains("override them: Limits.MaxRequestBufferSize. ", line!.Message);
    }

    private async Task<(FastCgiServerOptions Options, CollectedLog? Line)> StartAsync()
    {
        _builder.WebHost.UseFastCgi();
        await using var app = await StartAsync(_builder);
        Assert.Equal("Hello", await FastCgiClient.GetAsync(Assert.Single(app.Urls)));
        return (
            app.Services.GetRequiredService<IOptions<FastCgiServerOptions>>().Value,
            Logs.All.SingleOrDefault(static log => log.EventName == "KestrelOptionsTaken"));
    }
}
