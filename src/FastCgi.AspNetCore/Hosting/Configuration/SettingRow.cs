using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>A setting with one value. The option itself has its default and its range, for code too.</summary>
/// <param name="Name">The path below the section <c>FastCgi</c>.</param>
/// <param name="Bind">Sets the option from text; <see langword="null"/> if only code can.</param>
/// <param name="GetFromKestrel">Gets Kestrel's option; <see langword="null"/> if none applies here too.</param>
/// <param name="KestrelName">Kestrel's similar option, which may have another unit.</param>
internal sealed record SettingRow(
    string Name,
    Func<FastCgiServerOptions, object?> Get,
    Action<FastCgiServerOptions, string?>? Bind,
    Func<KestrelServerOptions, object?>? GetFromKestrel,
    Action<KestrelServerOptions, FastCgiServerOptions> CopyFromKestrel,
    string? KestrelName)
{
    public static SettingRow Of<T>(
        Func<string?, T>? parse,
        Func<FastCgiServerOptions, T> get,
        Action<FastCgiServerOptions, T> set,
        Func<KestrelServerOptions, T>? kestrel = null,
        [CallerArgumentExpression(nameof(get))] string name = "",
        [CallerArgumentExpression(nameof(kestrel))] string? kestrelName = null)
        => new(
            name.Replace("o => o.", "", StringComparison.Ordinal).Replace('.', ':'),
            options => get(options),
            parse is null ? null : (options, value) => set(options, parse(value)),
            kestrel is null ? null : options => kestrel(options),
            (from, options) => set(options, kestrel!(from)),
            kestrelName?.Replace("k => k.", "", StringComparison.Ordinal));
}
