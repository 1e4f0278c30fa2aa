using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>Applies Kestrel options with an equivalent to FastCGI. All FastCGI settings take precedence.</summary>
internal sealed class KestrelSettings(IServiceProvider services) : IConfigureOptions<FastCgiServerOptions>, IConfigureOptions<KestrelServerOptions>
{
    private readonly List<(string Name, Func<FastCgiServerOptions, bool> IsInEffect)> _taken = [];
    private readonly List<string> _meaningless = [];
    private Exception? _failure;

    /// <summary>Whether the application configured Kestrel endpoints in code. Not detected if it also configures endpoint defaults.</summary>
    public bool HasEndpoints { get; private set; }

    /// <summary>Runs before the application's code; Kestrel applies the defaults to each endpoint that the application adds.</summary>
    public void Configure(KestrelServerOptions options) => options.ConfigureEndpointDefaults(_ => HasEndpoints = true);

    public void Configure(FastCgiServerOptions options)
    {
        _taken.Clear();
        _meaningless.Clear();
        try
        {
            var (kestrel, initial) = (services.GetRequiredService<IOptions<KestrelServerOptions>>().Value, new KestrelServerOptions());
            Take(kestrel, initial, options);
            Name(kestrel, initial);
            _failure = null;
        }
        catch (Exception exception)
        {
            // Application code failed, for example by reading a certificate that only Kestrel needs.
            _failure = exception;
            HasEndpoints = false;
        }
    }

    /// <summary>Logs the options that apply, and those without effect.</summary>
    public void Report(FastCgiServerOptions options, ILogger log)
    {
        if (_failure is not null)
            log.KestrelOptionsUnreadable(_failure);

        var taken = _taken.Where(setting => setting.IsInEffect(options)).Select(static setting => setting.Name).ToList();
        if (taken.Count > 0 || _meaningless.Count > 0)
            log.KestrelOptionsTaken(Join(taken), Join(_meaningless));
    }

    private static string Join(List<string> names) => names.Count > 0 ? string.Join(", ", names) : "none";

    private void Take(KestrelServerOptions kestrel, KestrelServerOptions initial, FastCgiServerOptions options)
    {
        var (limits, defaults, ours) = (kestrel.Limits, initial.Limits, options.Limits);
        if (Differs(kestrel.AllowSynchronousIO, initial.AllowSynchronousIO))
            Take("AllowSynchronousIO", options.AllowSynchronousIO = kestrel.AllowSynchronousIO, static o => o.AllowSynchronousIO);
        if (Differs(kestrel.RequestHeaderEncodingSelector, initial.RequestHeaderEncodingSelector))
            Take(
                "RequestHeaderEncodingSelector",
                options.RequestHeaderEncodingSelector = kestrel.RequestHeaderEncodingSelector,
                static o => o.RequestHeaderEncodingSelector);
        if (Differs(kestrel.ResponseHeaderEncodingSelector, initial.ResponseHeaderEncodingSelector))
            Take(
                "ResponseHeaderEncodingSelector",
                options.ResponseHeaderEncodingSelector = kestrel.ResponseHeaderEncodingSelector,
                static o => o.ResponseHeaderEncodingSelector);
        if (Differs(limits.MaxRequestBodySize, defaults.MaxRequestBodySize))
            Take("Limits.MaxRequestBodySize", ours.MaxRequestBodySize = limits.MaxRequestBodySize, static o => o.Limits.MaxRequestBodySize);
        if (Differs(limits.MaxRequestBufferSize, defaults.MaxRequestBufferSize))
            Take("Limits.MaxRequestBufferSize", ours.MaxRequestBufferSize = limits.MaxRequestBufferSize, static o => o.Limits.MaxRequestBufferSize);
        // In Kestrel, 0 makes each write wait until it is sent; here, 1 does.
        if (Differs(limits.MaxResponseBufferSize, defaults.MaxResponseBufferSize))
            Take("Limits.MaxResponseBufferSize", ours.MaxResponseBufferSize = limits.MaxResponseBufferSize is 0 ? 1 : limits.MaxResponseBufferSize,
                static o => o.Limits.MaxResponseBufferSize);
        if (Differs(limits.MaxConcurrentConnections, defaults.MaxConcurrentConnections))
            Take(
                "Limits.MaxConcurrentConnections",
                ours.MaxConcurrentConnections = limits.MaxConcurrentConnections,
                static o => o.Limits.MaxConcurrentConnections);
        if (Differs(limits.RequestHeadersTimeout, defaults.RequestHeadersTimeout))
            Take("Limits.RequestHeadersTimeout", ours.RequestParametersTimeout = limits.RequestHeadersTimeout, static o => o.Limits.RequestParametersTimeout);
        if (Differs(limits.MinRequestBodyDataRate, defaults.MinRequestBodyDataRate))
            Take("Limits.MinRequestBodyDataRate", ours.MinRequestBodyDataRate = limits.MinRequestBodyDataRate, static o => o.Limits.MinRequestBodyDataRate);
    }

    private void Name(KestrelServerOptions kestrel, KestrelServerOptions initial)
    {
        var (limits, defaults) = (kestrel.Limits, initial.Limits);
        NameIf(kestrel.AddServerHeader != initial.AddServerHeader, "AddServerHeader");
        NameIf(kestrel.AllowAlternateSchemes != initial.AllowAlternateSchemes, "AllowAlternateSchemes");
        NameIf(kestrel.AllowHostHeaderOverride != initial.AllowHostHeaderOverride, "AllowHostHeaderOverride");
        NameIf(kestrel.AllowResponseHeaderCompression != initial.AllowResponseHeaderCompression, "AllowResponseHeaderCompression");
        NameIf(kestrel.DisableStringReuse != initial.DisableStringReuse, "DisableStringReuse");
        NameIf(limits.KeepAliveTimeout != defaults.KeepAliveTimeout, "Limits.KeepAliveTimeout (set by the web server for clients; "
            + "FastCgi:Limits:KeepAliveTimeout applies to its own connections)");
        NameIf(limits.MaxRequestHeaderCount != defaults.MaxRequestHeaderCount, "Limits.MaxRequestHeaderCount (FastCgi:Limits:MaxRequestParameterCount)");
        NameIf(limits.MaxRequestHeadersTotalSize != defaults.MaxRequestHeadersTotalSize, "Limits.MaxRequestHeadersTotalSize "
            + "(FastCgi:Limits:MaxRequestParametersTotalSize)");
        NameIf(limits.MaxRequestLineSize != defaults.MaxRequestLineSize, "Limits.MaxRequestLineSize");
        NameIf(limits.MaxConcurrentUpgradedConnections != defaults.MaxConcurrentUpgradedConnections, "Limits.MaxConcurrentUpgradedConnections");
        NameIf(Differs(limits.MinResponseDataRate, defaults.MinResponseDataRate), "Limits.MinResponseDataRate");
    }

    private static bool Differs(object? value, object? initial) => !Equals(value, initial);

    private static bool Differs(MinDataRate? rate, MinDataRate? initial)
        => rate?.BytesPerSecond != initial?.BytesPerSecond || rate?.GracePeriod != initial?.GracePeriod;

    private void Take(string name, object? taken, Func<FastCgiServerOptions, object?> get) => _taken.Add((name, options => Equals(get(options), taken)));

    private void NameIf(bool isSet, string name)
    {
        if (isSet)
            _meaningless.Add(name);
    }
}
