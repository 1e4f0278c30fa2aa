using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;

namespace FastCgi.AspNetCore.UnitTests.Hosting;

/// <summary>Each Kestrel setting on its own: it applies here too, or the log lists it as having no effect.</summary>
public sealed class KestrelSettingsTests : IDisposable
{
    private const string KeepAlive = "Limits.KeepAliveTimeout (the web server sets it for clients; "
        + "FastCgi:Limits:KeepAliveTimeout applies to its connections)";

    private const string HeaderCount = "Limits.MaxRequestHeaderCount (FastCgi:Limits:MaxRequestParameterCount)";
    private const string HeadersSize =
        "Limits.MaxRequestHeadersTotalSize (FastCgi:Limits:MaxRequestParametersTotalSize)";

    private const string DataRate = "Limits.MinRequestBodyDataRate";
    private const string Upgraded = "Limits.MaxConcurrentUpgradedConnections";

    private static readonly TimeSpan s_second = TimeSpan.FromSeconds(1);
    private static readonly Func<string, Encoding?> s_latin1 = static _ => Encoding.Latin1;

    private readonly CollectedLogs _logs = new();

    public void Dispose() => _logs.Dispose();

    /// <summary>The name, whether it applies here, and code that changes it.</summary>
    public static TheoryData<string, bool, Action<KestrelServerOptions>> All => new()
    {
        { "AllowSynchronousIO", true, static kestrel => kestrel.AllowSynchronousIO = true },
        { Headers("Request"), true, static kestrel => kestrel.RequestHeaderEncodingSelector = s_latin1 },
        { Headers("Response"), true, static kestrel => kestrel.ResponseHeaderEncodingSelector = s_latin1 },
        { "Limits.MaxRequestBodySize", true, static kestrel => kestrel.Limits.MaxRequestBodySize = 1 },
        { "Limits.MaxRequestBufferSize", true, static kestrel => kestrel.Limits.MaxRequestBufferSize = 2_000_000 },
        { "Limits.MaxResponseBufferSize", true, static kestrel => kestrel.Limits.MaxResponseBufferSize = 0 },
        { "Limits.MaxResponseBufferSize", true, static kestrel => kestrel.Limits.MaxResponseBufferSize = 7 },
        { "Limits.MaxConcurrentConnections", true, static kestrel => kestrel.Limits.MaxConcurrentConnections = 1 },
        { "Limits.RequestHeadersTimeout", true, static kestrel => kestrel.Limits.RequestHeadersTimeout = s_second },
        { DataRate, true, static kestrel => kestrel.Limits.MinRequestBodyDataRate = null },
        { DataRate, true, static kestrel => kestrel.Limits.MinRequestBodyDataRate = Rate(240, 6) },
        { DataRate, true, static kestrel => kestrel.Limits.MinRequestBodyDataRate = Rate(241, 5) },
        { "AddServerHeader", false, static kestrel => kestrel.AddServerHeader = false },
        { "AllowAlternateSchemes", false, static kestrel => kestrel.AllowAlternateSchemes = true },
        { "AllowHostHeaderOverride", false, static kestrel => kestrel.AllowHostHeaderOverride = true },
        { "AllowResponseHeaderCompression", false, static kestrel => kestrel.AllowResponseHeaderCompression = false },
        { "DisableStringReuse", false, static kestrel => kestrel.DisableStringReuse = true },
        { KeepAlive, false, static kestrel => kestrel.Limits.KeepAliveTimeout = s_second },
        { HeaderCount, false, static kestrel => kestrel.Limits.MaxRequestHeaderCount = 1 },
        { HeadersSize, false, static kestrel => kestrel.Limits.MaxRequestHeadersTotalSize = 10_000 },
        { "Limits.MaxRequestLineSize", false, static kestrel => kestrel.Limits.MaxRequestLineSize = 10_000 },
        { Upgraded, false, static kestrel => kestrel.Limits.MaxConcurrentUpgradedConnections = 1 },
        { "Limits.MinResponseDataRate", false, static kestrel => kestrel.Limits.MinResponseDataRate = null },
    };

    [Theory, MemberData(nameof(All))]
    public void Setting_Each_AppliesUnlessOverriddenOrIsNamed(
        string name, bool isTaken, Action<KestrelServerOptions> set)
    {
        var (settings, options) = Read(set);
        settings.Report(options, _logs.CreateLogger(""));

        var log = Assert.Single(_logs.All);
        Assert.Equal((LogLevel.Information, "KestrelOptionsTaken"), (log.Level, log.EventName));
        Assert.Contains(
            $"override them: {(isTaken ? name : "none")}. "
                + $"Kestrel options with no effect on FastCGI: {(isTaken ? "none" : name)}.",
            log.Message);
        if (!isTaken)
            return;

        // A FastCGI setting overrides it.
        using var logs = new CollectedLogs();
        var limits = new FastCgiServerOptions
        {
            Limits = { MaxRequestBufferSize = 3, MaxResponseBufferSize = 3, MinRequestBodyDataRate = Rate(1, 9) },
        };
        settings.Report(limits, logs.CreateLogger(""));
        Assert.Empty(logs.All);
    }

    [Fact]
    public void Settings_None_AreNotReported()
    {
        var (settings, options) = Read(
            static kestrel => kestrel.Limits.MinRequestBodyDataRate = new MinDataRate(240, TimeSpan.FromSeconds(5)));

        settings.Report(options, _logs.CreateLogger(""));

        Assert.Empty(_logs.All);
        Assert.False(settings.HasEndpoints);
    }

    [Fact]
    public void Settings_Equivalent_ApplyToTheServer()
    {
        var rate = new MinDataRate(100, TimeSpan.FromSeconds(10));
        var (_, options) = Read(kestrel =>
        {
            kestrel.AllowSynchronousIO = true;
            kestrel.RequestHeaderEncodingSelector = static _ => Encoding.Latin1;
            kestrel.ResponseHeaderEncodingSelector = static _ => Encoding.UTF8;
            kestrel.Limits.MaxRequestBodySize = null;
            kestrel.Limits.MaxRequestBufferSize = 2_000_000;
            kestrel.Limits.MaxResponseBufferSize = 7;
            kestrel.Limits.MaxConcurrentConnections = 50;
            kestrel.Limits.RequestHeadersTimeout = TimeSpan.FromSeconds(7);
            kestrel.Limits.MinRequestBodyDataRate = rate;
        });

        Assert.True(options.AllowSynchronousIO);
        Assert.Same(Encoding.Latin1, options.RequestHeaderEncodingSelector!("Name"));
        Assert.Same(Encoding.UTF8, options.ResponseHeaderEncodingSelector!("Name"));
        var limits = options.Limits;
        Assert.Equal(
            (null, 2_000_000, 7, 50),
            (limits.MaxRequestBodySize, limits.MaxRequestBufferSize, limits.MaxResponseBufferSize,
                limits.MaxConcurrentConnections));
        Assert.Equal(TimeSpan.FromSeconds(7), limits.RequestParametersTimeout);
        Assert.Same(rate, limits.MinRequestBodyDataRate);
    }

    [Fact]
    public void MaxResponseBufferSize_Zero_IsTheMinimum()
        => Assert.Equal(
            1, Read(static kestrel => kestrel.Limits.MaxResponseBufferSize = 0).Options.Limits.MaxResponseBufferSize);

    /// <summary>The code may be for another environment, for example with a certificate that is missing here.</summary>
    [Fact]
    public void Settings_CodeFails_AreIgnoredAndTheErrorIsLogged()
    {
        var (settings, options) = Read(static kestrel =>
        {
            kestrel.AllowSynchronousIO = true;
            kestrel.ListenLocalhost(1);
            throw new InvalidOperationException("on purpose");
        });

        settings.Report(options, _logs.CreateLogger(""));

        Assert.False(options.AllowSynchronousIO);
        Assert.False(settings.HasEndpoints);
        var log = Assert.Single(_logs.All);
        Assert.Equal(("KestrelOptionsUnreadable", "on purpose"), (log.EventName, log.Exception!.Message));
    }

    [Fact]
    public void Endpoints_InTheCode_AreFound()
    {
        Assert.True(Read(static kestrel => kestrel.ListenLocalhost(1)).Settings.HasEndpoints);
        var (settings, options) = Read(static kestrel => kestrel.AllowSynchronousIO = true);

        // The options are created again: nothing is logged twice.
        settings.Configure(options);
        settings.Report(options, _logs.CreateLogger(""));

        Assert.Contains("override them: AllowSynchronousIO.", Assert.Single(_logs.All).Message);
    }

    private static string Headers(string kind) => kind + "HeaderEncodingSelector";

    private static MinDataRate Rate(double bytes, int seconds) => new(bytes, TimeSpan.FromSeconds(seconds));

    private static (KestrelSettings Settings, FastCgiServerOptions Options) Read(Action<KestrelServerOptions> set)
    {
        var services = new ServiceCollection();
        services.AddSingleton<KestrelSettings>();
        services.AddOptions<KestrelServerOptions>()
            .Configure<KestrelSettings>(static (kestrel, settings) => settings.Configure(kestrel)).Configure(set);
        var settings = services.BuildServiceProvider().GetRequiredService<KestrelSettings>();
        var options = new FastCgiServerOptions();
        settings.Configure(options);
        return (settings, options);
    }
}
