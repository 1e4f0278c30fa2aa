using System.Text;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>Options that an application has set on Kestrel count where they mean the same, and are not silently without effect.</summary>
[Collection(Alone.Name)]
public sealed class KestrelOptionsTests : IDisposable
{
    private readonly CollectedLogs _logs = new();
    private readonly WebApplicationBuilder _builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false", "--urls", "fastcgi://127.0.0.1:0"]);

    public KestrelOptionsTests() => _builder.Logging.ClearProviders().AddProvider(_logs);

    public void Dispose() => _logs.Dispose();

    [Fact]
    public async Task SetThroughConfigureKestrel_CountsAndIsTold()
    {
        var rate = new MinDataRate(100, TimeSpan.FromSeconds(10));
        _builder.WebHost.ConfigureKestrel(kestrel =>
        {
            kestrel.AllowSynchronousIO = true;
            kestrel.RequestHeaderEncodingSelector = static _ => Encoding.Latin1;
            kestrel.ResponseHeaderEncodingSelector = static _ => Encoding.UTF8;
            kestrel.Limits.MaxRequestBodySize = null;
            kestrel.Limits.MaxRequestBufferSize = 2_000_000;
            kestrel.Limits.MaxResponseBufferSize = 0;
            kestrel.Limits.MaxConcurrentConnections = 50;
            kestrel.Limits.RequestHeadersTimeout = TimeSpan.FromSeconds(7);
            kestrel.Limits.MinRequestBodyDataRate = rate;
        });

        var (options, line) = await StartAsync();

        Assert.True(options.AllowSynchronousIO);
        Assert.Same(Encoding.Latin1, options.RequestHeaderEncodingSelector!("Name"));
        Assert.Same(Encoding.UTF8, options.ResponseHeaderEncodingSelector!("Name"));
        Assert.Null(options.Limits.MaxRequestBodySize);
        Assert.Equal((2_000_000, 1, 50), (options.Limits.MaxRequestBufferSize, options.Limits.MaxResponseBufferSize, options.Limits.MaxConcurrentConnections));
        Assert.Equal(TimeSpan.FromSeconds(7), options.Limits.RequestParametersTimeout);
        Assert.Same(rate, options.Limits.MinRequestBodyDataRate);
        Assert.Contains(
            "override them: AllowSynchronousIO, RequestHeaderEncodingSelector, ResponseHeaderEncodingSelector, Limits.MaxRequestBodySize, Limits.MaxRequestBufferSize, Limits.MaxResponseBufferSize, Limits.MaxConcurrentConnections, Limits.RequestHeadersTimeout, Limits.MinRequestBodyDataRate. Kestrel options without effect on FastCGI: none.",
            line!.Message,
            StringComparison.Ordinal);
        Assert.Equal(LogLevel.Information, line.Level);
    }

    [Fact]
    public async Task SetThroughServices_Counts()
    {
        _builder.Services.Configure<KestrelServerOptions>(static kestrel => kestrel.AllowSynchronousIO = true);

        Assert.True((await StartAsync()).Options.AllowSynchronousIO);
    }

    [Fact]
    public async Task SetBehindUseFastCgi_Counts()
    {
        _builder.WebHost.UseFastCgi();
        _builder.WebHost.ConfigureKestrel(static kestrel => kestrel.Limits.MaxRequestBodySize = null);

        Assert.Null((await StartAsync()).Options.Limits.MaxRequestBodySize);
    }

    [Fact]
    public async Task NotSet_NothingIsTold()
    {
        var (options, line) = await StartAsync();

        Assert.Null(line);
        Assert.Equal(30_000_000, options.Limits.MaxRequestBodySize);
        Assert.Null(options.Limits.MinRequestBodyDataRate);
    }

    [Fact]
    public async Task SetForFastCgiToo_FastCgiCounts()
    {
        _builder.Services.Configure<FastCgiServerOptions>(static options => options.Limits.MaxConcurrentConnections = 70);
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
        Assert.Equal((30_000_000, 70, 2_000_000), (options.Limits.MaxRequestBodySize, options.Limits.MaxConcurrentConnections, options.Limits.MaxRequestBufferSize));
        Assert.Contains("override them: Limits.MaxRequestBufferSize. ", line!.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task WithoutAMeaningHere_IsTold()
    {
        _builder.WebHost.ConfigureKestrel(static kestrel =>
        {
            kestrel.AddServerHeader = false;
            kestrel.Limits.KeepAliveTimeout = TimeSpan.FromMinutes(5);
            kestrel.Limits.MaxRequestHeadersTotalSize = 64_000;
            kestrel.Limits.MinResponseDataRate = null;
        });

        var (options, line) = await StartAsync();

        Assert.Null(options.Limits.KeepAliveTimeout);
        Assert.Contains("override them: none. Kestrel options without effect on FastCGI: AddServerHeader, ", line!.Message, StringComparison.Ordinal);
        Assert.Contains("FastCgi:Limits:MaxRequestParametersTotalSize", line.Message, StringComparison.Ordinal);
        Assert.Contains("Limits.MinResponseDataRate", line.Message, StringComparison.Ordinal);
    }

    /// <summary>Such as one that reads a certificate, which production has no need of.</summary>
    [Fact]
    public async Task WhatSetsThemThrows_FastCgiServesAndWarns()
    {
        _builder.WebHost.ConfigureKestrel(static _ => throw new FileNotFoundException("no certificate"));

        await StartAsync();

        var warning = Assert.Single(_logs.All, static log => log is { Level: LogLevel.Warning, EventName: "KestrelOptionsUnreadable" });
        Assert.IsType<FileNotFoundException>(warning.Exception);
    }

    /// <summary>Kestrel could not start with them either, so that FastCGI alone is served.</summary>
    [Fact]
    public async Task EndpointThatCannotBeRead_FastCgiIsServed()
    {
        _builder.WebHost.ConfigureKestrel(static kestrel => kestrel.ListenAnyIP(0, static _ => throw new FileNotFoundException("the certificate")));

        await StartAsync();

        Assert.Single(_logs.All, static log => log is { Level: LogLevel.Warning, EventName: "KestrelOptionsUnreadable" });
    }

    private async Task<(FastCgiServerOptions Options, CollectedLog? Line)> StartAsync()
    {
        _builder.WebHost.UseFastCgi();
        await using var app = _builder.Build();
        app.MapGet("/", static () => "Hello");
        await app.StartAsync();
        Assert.Equal("Hello", await FastCgiClient.GetAsync(Assert.Single(app.Urls)));
        return (app.Services.GetRequiredService<IOptions<FastCgiServerOptions>>().Value, _logs.All.SingleOrDefault(static log => log.EventName == "KestrelOptionsTaken"));
    }
}
