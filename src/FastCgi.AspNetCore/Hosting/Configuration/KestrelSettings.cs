using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>Applies Kestrel options with an equivalent to FastCGI. All FastCGI settings take precedence.</summary>
internal sealed class KestrelSettings(IServiceProvider services) : IConfigureOptions<FastCgiServerOptions>,
    IConfigureOptions<KestrelServerOptions>
{
    private static readonly IReadOnlyList<SettingRow> s_shared =
        [.. Settings.All.Where(static setting => setting.GetFromKestrel is not null)];

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
            foreach (var setting in s_shared.Where(setting => IsSet(kestrel, setting.GetFromKestrel!)))
                setting.CopyFromKestrel(kestrel, options);
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
            .Where(setting => IsSet(kestrel, setting.GetFromKestrel!)
                && Equals(setting.Get(options), setting.GetFromKestrel!(kestrel)))
            .Select(static setting => setting.KestrelName!).ToList();
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
}
