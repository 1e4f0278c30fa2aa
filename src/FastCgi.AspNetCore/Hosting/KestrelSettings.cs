using FastCgi.AspNetCore.Diagnostics;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// What the application has set on Kestrel, for which it was written. What means the same here counts here too, unless a setting of
/// FastCGI says otherwise: it is applied before all of those.
/// </summary>
internal sealed class KestrelSettings(IServiceProvider services) : IConfigureOptions<FastCgiServerOptions>
{
    private readonly List<(string Name, Func<FastCgiServerOptions, bool> IsInEffect)> _taken = [];
    private readonly List<string> _meaningless = [];
    private Exception? _failure;

    /// <inheritdoc/>
    public void Configure(FastCgiServerOptions options)
    {
        _taken.Clear();
        _meaningless.Clear();
        try
        {
            Take(services.GetRequiredService<IOptions<KestrelServerOptions>>().Value, new KestrelServerOptions(), options);
            _failure = null;
        }
        catch (Exception exception)
        {
            // It is the application's code, such as one that reads a certificate that only Kestrel needs.
            _failure = exception;
        }
    }

    /// <summary>Tells what of it counts, and what has no meaning.</summary>
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
        TakeIf("AllowSynchronousIO", kestrel.AllowSynchronousIO, initial.AllowSynchronousIO, options, static o => o.AllowSynchronousIO, static (o, value) => o.AllowSynchronousIO = value);
        TakeIf("RequestHeaderEncodingSelector", kestrel.RequestHeaderEncodingSelector, initial.RequestHeaderEncodingSelector, options, static o => o.RequestHeaderEncodingSelector, static (o, value) => o.RequestHeaderEncodingSelector = value);
        TakeIf("ResponseHeaderEncodingSelector", kestrel.ResponseHeaderEncodingSelector, initial.ResponseHeaderEncodingSelector, options, static o => o.ResponseHeaderEncodingSelector, static (o, value) => o.ResponseHeaderEncodingSelector = value);
        var (limits, defaults) = (kestrel.Limits, initial.Limits);
        TakeIf("Limits.MaxRequestBodySize", limits.MaxRequestBodySize, defaults.MaxRequestBodySize, options, static o => o.Limits.MaxRequestBodySize, static (o, value) => o.Limits.MaxRequestBodySize = value);
        TakeIf("Limits.MaxRequestBufferSize", limits.MaxRequestBufferSize, defaults.MaxRequestBufferSize, options, static o => o.Limits.MaxRequestBufferSize, static (o, value) => o.Limits.MaxRequestBufferSize = value);
        // Kestrel's 0 makes each write wait until it is sent, which is what the least number does.
        TakeIf("Limits.MaxResponseBufferSize", limits.MaxResponseBufferSize is 0 ? 1 : limits.MaxResponseBufferSize, defaults.MaxResponseBufferSize, options, static o => o.Limits.MaxResponseBufferSize, static (o, value) => o.Limits.MaxResponseBufferSize = value);
        TakeIf("Limits.MaxConcurrentConnections", limits.MaxConcurrentConnections, defaults.MaxConcurrentConnections, options, static o => o.Limits.MaxConcurrentConnections, static (o, value) => o.Limits.MaxConcurrentConnections = value);
        TakeIf("Limits.RequestHeadersTimeout", limits.RequestHeadersTimeout, defaults.RequestHeadersTimeout, options, static o => o.Limits.RequestParametersTimeout, static (o, value) => o.Limits.RequestParametersTimeout = value);

        NameIf("AddServerHeader", kestrel.AddServerHeader, initial.AddServerHeader);
        NameIf("AllowAlternateSchemes", kestrel.AllowAlternateSchemes, initial.AllowAlternateSchemes);
        NameIf("AllowHostHeaderOverride", kestrel.AllowHostHeaderOverride, initial.AllowHostHeaderOverride);
        NameIf("AllowResponseHeaderCompression", kestrel.AllowResponseHeaderCompression, initial.AllowResponseHeaderCompression);
        NameIf("DisableStringReuse", kestrel.DisableStringReuse, initial.DisableStringReuse);
        NameIf("Limits.KeepAliveTimeout (the web server's; FastCgi:Limits:KeepAliveTimeout is about its connections)", limits.KeepAliveTimeout, defaults.KeepAliveTimeout);
        NameIf("Limits.MaxRequestHeaderCount (FastCgi:Limits:MaxRequestParameterCount)", limits.MaxRequestHeaderCount, defaults.MaxRequestHeaderCount);
        NameIf("Limits.MaxRequestHeadersTotalSize (FastCgi:Limits:MaxRequestParametersTotalSize)", limits.MaxRequestHeadersTotalSize, defaults.MaxRequestHeadersTotalSize);
        NameIf("Limits.MaxRequestLineSize", limits.MaxRequestLineSize, defaults.MaxRequestLineSize);
        NameIf("Limits.MaxConcurrentUpgradedConnections", limits.MaxConcurrentUpgradedConnections, defaults.MaxConcurrentUpgradedConnections);
        NameIf("Limits.MinRequestBodyDataRate", GetRate(limits.MinRequestBodyDataRate), GetRate(defaults.MinRequestBodyDataRate));
        NameIf("Limits.MinResponseDataRate", GetRate(limits.MinResponseDataRate), GetRate(defaults.MinResponseDataRate));
    }

    private static (double, TimeSpan)? GetRate(MinDataRate? rate) => rate is null ? null : (rate.BytesPerSecond, rate.GracePeriod);

    private void TakeIf<T>(
        string name, T value, T initial, FastCgiServerOptions options, Func<FastCgiServerOptions, T?> get, Action<FastCgiServerOptions, T> set)
    {
        if (EqualityComparer<T>.Default.Equals(value, initial))
            return;

        set(options, value);
        var taken = get(options);
        _taken.Add((name, current => EqualityComparer<T>.Default.Equals(get(current), taken)));
    }

    private void NameIf<T>(string name, T value, T initial)
    {
        if (!EqualityComparer<T>.Default.Equals(value, initial))
            _meaningless.Add(name);
    }
}
