using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>Applies Kestrel options with an equivalent to FastCGI. All FastCGI settings take precedence.</summary>
internal sealed class KestrelSettings(IServiceProvider services) : IConfigureOptions<FastCgiServerOptions>,
    IConfigureOptions<KestrelServerOptions>
{
    private static readonly Shared[] s_shared =
    [
        new("AllowSynchronousIO", static k => k.AllowSynchronousIO,
            static o => o.AllowSynchronousIO, static (o, value) => o.AllowSynchronousIO = (bool)value!),
        new("RequestHeaderEncodingSelector", static k => k.RequestHeaderEncodingSelector,
            static o => o.RequestHeaderEncodingSelector,
            static (o, value) => o.RequestHeaderEncodingSelector = (Func<string, Encoding?>)value!),
        new("ResponseHeaderEncodingSelector", static k => k.ResponseHeaderEncodingSelector,
            static o => o.ResponseHeaderEncodingSelector,
            static (o, value) => o.ResponseHeaderEncodingSelector = (Func<string, Encoding?>)value!),
        new("Limits.MaxRequestBodySize", static k => k.Limits.MaxRequestBodySize,
            static o => o.Limits.MaxRequestBodySize,
            static (o, value) => o.Limits.MaxRequestBodySize = (long?)value),
        new("Limits.MaxRequestBufferSize", static k => k.Limits.MaxRequestBufferSize,
            static o => o.Limits.MaxRequestBufferSize,
            static (o, value) => o.Limits.MaxRequestBufferSize = (long?)value),
        // In Kestrel, 0 makes each write wait until it is sent; here, 1 does.
        new("Limits.MaxResponseBufferSize",
            static k => k.Limits.MaxResponseBufferSize is 0 ? 1 : k.Limits.MaxResponseBufferSize,
            static o => o.Limits.MaxResponseBufferSize,
            static (o, value) => o.Limits.MaxResponseBufferSize = (long?)value),
        new("Limits.MaxConcurrentConnections", static k => k.Limits.MaxConcurrentConnections,
            static o => o.Limits.MaxConcurrentConnections,
            static (o, value) => o.Limits.MaxConcurrentConnections = (long?)value),
        new("Limits.RequestHeadersTimeout", static k => k.Limits.RequestHeadersTimeout,
            static o => o.Limits.RequestParametersTimeout,
            static (o, value) => o.Limits.RequestParametersTimeout = (TimeSpan)value!),
        new("Limits.MinRequestBodyDataRate", static k => k.Limits.MinRequestBodyDataRate,
            static o => o.Limits.MinRequestBodyDataRate,
            static (o, value) => o.Limits.MinRequestBodyDataRate = (MinDataRate?)value),
    ];

    private static readonly (string Name, Func<KestrelServerOptions, object?> Read)[] s_withoutEffect =
    [
        ("AddServerHeader", static kestrel => kestrel.AddServerHeader),
        ("AllowAlternateSchemes", static kestrel => kestrel.AllowAlternateSchemes),
        ("AllowHostHeaderOverride", static kestrel => kestrel.AllowHostHeaderOverride),
        ("AllowResponseHeaderCompression", static kestrel => kestrel.AllowResponseHeaderCompression),
        ("DisableStringReuse", static kestrel => kestrel.DisableStringReuse),
        ("Limits.KeepAliveTimeout (the web server sets it for clients; FastCgi:Limits:KeepAliveTimeout applies to "
            + "its connections)",
            static kestrel => kestrel.Limits.KeepAliveTimeout),
        ("Limits.MaxRequestHeaderCount (FastCgi:Limits:MaxRequestParameterCount)",
            static kestrel => kestrel.Limits.MaxRequestHeaderCount),
        ("Limits.MaxRequestHeadersTotalSize (FastCgi:Limits:MaxRequestParametersTotalSize)",
            static kestrel => kestrel.Limits.MaxRequestHeadersTotalSize),
        ("Limits.MaxRequestLineSize", static kestrel => kestrel.Limits.MaxRequestLineSize),
        ("Limits.MaxConcurrentUpgradedConnections", static kestrel => kestrel.Limits.MaxConcurrentUpgradedConnections),
        ("Limits.MinResponseDataRate", static kestrel => kestrel.Limits.MinResponseDataRate),
    ];

    private static readonly KestrelServerOptions s_initial = new();

    private KestrelServerOptions? _kestrel;
    private Exception? _failure;

    /// <summary>
    /// Whether the application configured Kestrel endpoints in code. Not detected if it also configures endpoint
    /// defaults.
    /// </summary>
    public bool HasEndpoints { get; private set; }

    /// <summary>
    /// Runs before the application's code; Kestrel applies the defaults to each endpoint that the application adds.
    /// </summary>
    public void Configure(KestrelServerOptions options) => options.ConfigureEndpointDefaults(_ => HasEndpoints = true);

    public void Configure(FastCgiServerOptions options)
    {
        (_kestrel, _failure) = (null, null);
        try
        {
            var kestrel = services.GetRequiredService<IOptions<KestrelServerOptions>>().Value;
            foreach (var setting in s_shared.Where(setting => IsSet(kestrel, setting.Read)))
                setting.Set(options, setting.Read(kestrel));
            _kestrel = kestrel;
        }
        catch (Exception exception)
        {
            // Application code failed, for example by reading a certificate that only Kestrel needs.
            _failure = exception;
            HasEndpoints = false;
        }
    }

    public void Report(FastCgiServerOptions options, ILogger log)
    {
        if (_failure is not null)
            log.KestrelOptionsUnreadable(_failure);
        if (_kestrel is not { } kestrel)
            return;

        // FastCGI settings may have replaced some of them.
        var taken = s_shared
            .Where(setting => IsSet(kestrel, setting.Read) && Equals(setting.Get(options), setting.Read(kestrel)))
            .Select(static setting => setting.Name).ToList();
        var meaningless = s_withoutEffect.Where(setting => IsSet(kestrel, setting.Read))
            .Select(static setting => setting.Name).ToList();
        if (taken.Count > 0 || meaningless.Count > 0)
            log.KestrelOptionsTaken(Join(taken), Join(meaningless));
    }

    private static string Join(List<string> names) => names.Count > 0 ? string.Join(", ", names) : "none";

    private static bool IsSet(KestrelServerOptions kestrel, Func<KestrelServerOptions, object?> read)
        => (read(kestrel), read(s_initial)) switch
        {
            (MinDataRate rate, MinDataRate initial)
                => rate.BytesPerSecond != initial.BytesPerSecond || rate.GracePeriod != initial.GracePeriod,
            var (value, initial) => !Equals(value, initial),
        };

    private sealed record Shared(
        string Name,
        Func<KestrelServerOptions, object?> Read,
        Func<FastCgiServerOptions, object?> Get,
        Action<FastCgiServerOptions, object?> Set);
}
