using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>Applies Kestrel options with an equivalent to FastCGI. All FastCGI settings take precedence.</summary>
internal sealed class KestrelSettings(IServiceProvider services) : IConfigureOptions<FastCgiServerOptions>,
    IConfigureOptions<KestrelServerOptions>
{
    /// <summary>The options with an equivalent.</summary>
    private static readonly (string Name, Func<KestrelServerOptions, object?> Read, Action<FastCgiServerOptions,
        KestrelServerOptions> Apply,
        Func<FastCgiServerOptions, object?> Get)[] s_shared =
    [
        ("AllowSynchronousIO", static k => k.AllowSynchronousIO,
            static (o, k) => o.AllowSynchronousIO = k.AllowSynchronousIO, static o => o.AllowSynchronousIO),
        ("RequestHeaderEncodingSelector", static k => k.RequestHeaderEncodingSelector,
            static (o, k) => o.RequestHeaderEncodingSelector =
                k.RequestHeaderEncodingSelector, static o => o.RequestHeaderEncodingSelector),
        ("ResponseHeaderEncodingSelector", static k => k.ResponseHeaderEncodingSelector,
            static (o, k) => o.ResponseHeaderEncodingSelector =
                k.ResponseHeaderEncodingSelector, static o => o.ResponseHeaderEncodingSelector),
        ("Limits.MaxRequestBodySize", static k => k.Limits.MaxRequestBodySize,
            static (o, k) => o.Limits.MaxRequestBodySize =
                k.Limits.MaxRequestBodySize, static o => o.Limits.MaxRequestBodySize),
        ("Limits.MaxRequestBufferSize", static k => k.Limits.MaxRequestBufferSize,
            static (o, k) => o.Limits.MaxRequestBufferSize =
                k.Limits.MaxRequestBufferSize, static o => o.Limits.MaxRequestBufferSize),
        // In Kestrel, 0 makes each write wait until it is sent; here, 1 does.
        ("Limits.MaxResponseBufferSize", static k => k.Limits.MaxResponseBufferSize,
            static (o, k) => o.Limits.MaxResponseBufferSize = k.Limits.MaxResponseBufferSize is 0
                ? 1
                : k.Limits.MaxResponseBufferSize,
            static o => o.Limits.MaxResponseBufferSize),
        ("Limits.MaxConcurrentConnections", static k => k.Limits.MaxConcurrentConnections,
            static (o, k) => o.Limits.MaxConcurrentConnections =
                k.Limits.MaxConcurrentConnections, static o => o.Limits.MaxConcurrentConnections),
        ("Limits.RequestHeadersTimeout", static k => k.Limits.RequestHeadersTimeout,
            static (o, k) => o.Limits.RequestParametersTimeout =
                k.Limits.RequestHeadersTimeout, static o => o.Limits.RequestParametersTimeout),
        ("Limits.MinRequestBodyDataRate", static k => k.Limits.MinRequestBodyDataRate,
            static (o, k) => o.Limits.MinRequestBodyDataRate =
                k.Limits.MinRequestBodyDataRate, static o => o.Limits.MinRequestBodyDataRate),
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

    private readonly List<(string Name, Func<FastCgiServerOptions, bool> IsInEffect)> _taken = [];
    private readonly List<string> _meaningless = [];
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
        _taken.Clear();
        _meaningless.Clear();
        try
        {
            var (kestrel, initial) =
                (services.GetRequiredService<IOptions<KestrelServerOptions>>().Value, new KestrelServerOptions());
            Take(kestrel, initial, options);
            _failure = null;
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

        var taken = _taken.Where(setting => setting.IsInEffect(options)).Select(static setting => setting.Name)
            .ToList();
        if (taken.Count > 0 || _meaningless.Count > 0)
            log.KestrelOptionsTaken(Join(taken), Join(_meaningless));
    }

    private static string Join(List<string> names) => names.Count > 0 ? string.Join(", ", names) : "none";

    private void Take(KestrelServerOptions kestrel, KestrelServerOptions initial, FastCgiServerOptions options)
    {
        foreach (var (name, read, apply, get) in s_shared)
        {
            if (!Differs(read(kestrel), read(initial)))
                continue;

            apply(options, kestrel);
            var taken = get(options);
            _taken.Add((name, options => Equals(get(options), taken)));
        }

        _meaningless.AddRange(
            s_withoutEffect.Where(setting => Differs(setting.Read(kestrel), setting.Read(initial)))
                .Select(static setting => setting.Name));
    }

    private static bool Differs(object? value, object? initial) => value is MinDataRate rate
        && initial is MinDataRate other
        ? rate.BytesPerSecond != other.BytesPerSecond || rate.GracePeriod != other.GracePeriod
        : !Equals(value, initial);
}
