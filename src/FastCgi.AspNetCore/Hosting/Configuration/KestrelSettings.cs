using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>Applies Kestrel options with an equivalent to FastCGI. All FastCGI settings take precedence.</summary>
internal sealed class KestrelSettings(IServiceProvider services) : IConfigureOptions<FastCgiServerOptions>,
    IConfigureOptions<KestrelServerOptions>
{
    private static readonly Shared[] s_shared =
    [
        new("AllowSynchronousIO", k => k.AllowSynchronousIO,
            o => o.AllowSynchronousIO, (o, value) => o.AllowSynchronousIO = (bool)value!),
        new("RequestHeaderEncodingSelector", k => k.RequestHeaderEncodingSelector, o => o.RequestHeaderEncodingSelector,
            (o, value) => o.RequestHeaderEncodingSelector = (Func<string, Encoding?>)value!),
        new("ResponseHeaderEncodingSelector", k => k.ResponseHeaderEncodingSelector,
            o => o.ResponseHeaderEncodingSelector,
            (o, value) => o.ResponseHeaderEncodingSelector = (Func<string, Encoding?>)value!),
        new("Limits.MaxRequestBodySize", k => k.Limits.MaxRequestBodySize, o => o.Limits.MaxRequestBodySize,
            (o, value) => o.Limits.MaxRequestBodySize = (long?)value),
        new("Limits.MaxRequestBufferSize", k => k.Limits.MaxRequestBufferSize, o => o.Limits.MaxRequestBufferSize,
            (o, value) => o.Limits.MaxRequestBufferSize = (long?)value),
        // In Kestrel, 0 makes each write wait until it is sent; here, 1 does.
        new("Limits.MaxResponseBufferSize",
            k => k.Limits.MaxResponseBufferSize is 0 ? 1 : k.Limits.MaxResponseBufferSize,
            o => o.Limits.MaxResponseBufferSize, (o, value) => o.Limits.MaxResponseBufferSize = (long?)value),
        new("Limits.MaxConcurrentConnections", k => k.Limits.MaxConcurrentConnections,
            o => o.Limits.MaxConcurrentConnections, (o, value) => o.Limits.MaxConcurrentConnections = (long?)value),
        new("Limits.RequestHeadersTimeout", k => k.Limits.RequestHeadersTimeout, o => o.Limits.RequestParametersTimeout,
            (o, value) => o.Limits.RequestParametersTimeout = (TimeSpan)value!),
        new("Limits.MinRequestBodyDataRate", k => k.Limits.MinRequestBodyDataRate, o => o.Limits.MinRequestBodyDataRate,
            (o, value) => o.Limits.MinRequestBodyDataRate = (MinDataRate?)value),
    ];

    private static readonly (string Name, Func<KestrelServerOptions, object?> Read)[] s_withoutEffect =
    [
        ("AddServerHeader", k => k.AddServerHeader),
        ("AllowAlternateSchemes", k => k.AllowAlternateSchemes),
        ("AllowHostHeaderOverride", k => k.AllowHostHeaderOverride),
        ("AllowResponseHeaderCompression", k => k.AllowResponseHeaderCompression),
        ("DisableStringReuse", k => k.DisableStringReuse),
        ("Limits.KeepAliveTimeout (the web server sets it for clients; FastCgi:Limits:KeepAliveTimeout applies to "
            + "its connections)", k => k.Limits.KeepAliveTimeout),
        ("Limits.MaxRequestHeaderCount (FastCgi:Limits:MaxRequestParameterCount)", k => k.Limits.MaxRequestHeaderCount),
        ("Limits.MaxRequestHeadersTotalSize (FastCgi:Limits:MaxRequestParametersTotalSize)",
            k => k.Limits.MaxRequestHeadersTotalSize),
        ("Limits.MaxRequestLineSize", k => k.Limits.MaxRequestLineSize),
        ("Limits.MaxConcurrentUpgradedConnections", k => k.Limits.MaxConcurrentUpgradedConnections),
        ("Limits.MinResponseDataRate", k => k.Limits.MinResponseDataRate),
    ];

    private static readonly KestrelServerOptions s_initial = new();

    private KestrelServerOptions? _kestrel;
    private Exception? _failure;

    /// <summary>Whether code configures Kestrel endpoints. Not detected if it configures their defaults too.</summary>
    public bool HasEndpoints { get; private set; }

    /// <summary>Runs before the application's code. Kestrel applies the defaults to each added endpoint.</summary>
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
