using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

/// <summary>A setting with one value. The option itself has its default and its range, for code too.</summary>
internal sealed class Setting
{
    /// <summary>The path below the section <c>FastCgi</c>.</summary>
    public required string Name { get; init; }

    public required Func<FastCgiServerOptions, object?> Get { get; init; }

    /// <summary>Sets the option from text; <see langword="null"/> if only code can.</summary>
    public required Action<FastCgiServerOptions, string?>? Bind { get; init; }

    /// <summary>Gets Kestrel's option, which sets this one; <see langword="null"/> if none does.</summary>
    public required Func<KestrelServerOptions, object?>? GetFromKestrel { get; init; }

    public required Action<KestrelServerOptions, FastCgiServerOptions> CopyFromKestrel { get; init; }

    /// <summary>Kestrel's similar option, which may have another unit.</summary>
    public required string? KestrelName { get; init; }

    public static Setting Of<T>(
        Func<string?, T>? parse,
        Func<FastCgiServerOptions, T> get,
        Action<FastCgiServerOptions, T> set,
        Func<KestrelServerOptions, T>? kestrel = null,
        [CallerArgumentExpression(nameof(get))] string name = "",
        [CallerArgumentExpression(nameof(kestrel))] string? kestrelName = null) => new()
        {
            Name = name.Replace("o => o.", "", StringComparison.Ordinal).Replace('.', ':'),
            Get = options => get(options),
            Bind = parse is null ? null : (options, value) => set(options, parse(value)),
            GetFromKestrel = kestrel is null ? null : options => kestrel(options),
            CopyFromKestrel = (from, options) => set(options, kestrel!(from)),
            KestrelName = kestrelName?.Replace("k => k.", "", StringComparison.Ordinal),
        };
}
