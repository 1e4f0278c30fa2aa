using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.Hosting.Configuration;

using static SettingRow;
using static SettingValues;

/// <summary>
/// The table of settings. Binding, "did you mean", Kestrel's options and the status are derived from it; a test
/// compares it with <c>docs/configuration.md</c>.
/// </summary>
internal static class Settings
{
    public const string Root = "FastCgi";

    public static readonly IReadOnlyList<SettingRow> All =
    [
        Of(Flag, o => o.AllowSynchronousIO, (o, v) => o.AllowSynchronousIO = v, k => k.AllowSynchronousIO),
        Of(Flag, o => o.AllowUnverifiedClientCertificate, (o, v) => o.AllowUnverifiedClientCertificate = v),
        Of(Flag, o => o.EnableAdvice, (o, v) => o.EnableAdvice = v),
        Of(OptionalTime, o => o.IdleExit, (o, v) => o.IdleExit = v),
        Of(static value => value ?? "", o => o.PathBase, (o, v) => o.PathBase = v),
        Of(Choice<FastCgiPathSource>, o => o.PathSource, (o, v) => o.PathSource = v),
        Of(static value => value is "" ? null : value, o => o.PingPath, (o, v) => o.PingPath = v),
        Of(OptionalTime, o => o.SlowRequestThreshold, (o, v) => o.SlowRequestThreshold = v),
        Of(static value => value, o => o.TraceIdentifierParameter, (o, v) => o.TraceIdentifierParameter = v),
        Of(Flag, o => o.TrustScriptName, (o, v) => o.TrustScriptName = v),
        Of(null, o => o.RequestHeaderEncodingSelector, (o, v) => o.RequestHeaderEncodingSelector = v,
            k => k.RequestHeaderEncodingSelector),
        Of(null, o => o.ResponseHeaderEncodingSelector, (o, v) => o.ResponseHeaderEncodingSelector = v,
            k => k.ResponseHeaderEncodingSelector),

        Of(OptionalNumber, o => o.Limits.MaxConcurrentConnections, (o, v) => o.Limits.MaxConcurrentConnections = v,
            k => k.Limits.MaxConcurrentConnections),
        Of(OptionalNumber, o => o.Limits.MaxConcurrentRequests, (o, v) => o.Limits.MaxConcurrentRequests = v),
        Of(Number, o => o.Limits.RequestQueueLimit, (o, v) => o.Limits.RequestQueueLimit = v),
        Of(OptionalTime, o => o.Limits.RequestQueueTimeout, (o, v) => o.Limits.RequestQueueTimeout = v),
        Of(Number, o => o.Limits.MaxRequestsPerConnection, (o, v) => o.Limits.MaxRequestsPerConnection = v),
        Of(Size, o => o.Limits.MaxRequestParametersTotalSize, (o, v) => o.Limits.MaxRequestParametersTotalSize = v,
            kestrelName: "Limits.MaxRequestHeadersTotalSize"),
        Of(Number, o => o.Limits.MaxRequestParameterCount, (o, v) => o.Limits.MaxRequestParameterCount = v,
            kestrelName: "Limits.MaxRequestHeaderCount"),
        Of(OptionalNumber, o => o.Limits.MaxRequestBodySize, (o, v) => o.Limits.MaxRequestBodySize = v,
            k => k.Limits.MaxRequestBodySize),
        Of(OptionalNumber, o => o.Limits.MaxRequestBufferSize, (o, v) => o.Limits.MaxRequestBufferSize = v,
            k => k.Limits.MaxRequestBufferSize),
        // In Kestrel, 0 makes each write wait until it is sent; here, 1 does.
        Of(OptionalNumber, o => o.Limits.MaxResponseBufferSize, (o, v) => o.Limits.MaxResponseBufferSize = v,
            k => k.Limits.MaxResponseBufferSize is 0 ? 1 : k.Limits.MaxResponseBufferSize,
            kestrelName: "Limits.MaxResponseBufferSize"),
        Of(OptionalNumber, o => o.Limits.MaxStandardErrorSize, (o, v) => o.Limits.MaxStandardErrorSize = v),
        Of(Time, o => o.Limits.RequestParametersTimeout, (o, v) => o.Limits.RequestParametersTimeout = v,
            k => k.Limits.RequestHeadersTimeout),
        Of(null, o => o.Limits.MinRequestBodyDataRate, (o, v) => o.Limits.MinRequestBodyDataRate = v,
            k => k.Limits.MinRequestBodyDataRate),
        Of(Time, o => o.Limits.UnreadBodyTimeout, (o, v) => o.Limits.UnreadBodyTimeout = v),
        Of(OptionalTime, o => o.Limits.SendTimeout, (o, v) => o.Limits.SendTimeout = v),
        Of(OptionalTime, o => o.Limits.KeepAliveTimeout, (o, v) => o.Limits.KeepAliveTimeout = v),
        Of(Time, o => o.Limits.LingerTimeout, (o, v) => o.Limits.LingerTimeout = v),
        Of(Time, o => o.Limits.ShutdownIdleGracePeriod, (o, v) => o.Limits.ShutdownIdleGracePeriod = v),

        Of(Choice<FastCgiApplicationScheduling>, o => o.Transport.ApplicationScheduling,
            (o, v) => o.Transport.ApplicationScheduling = v),
        Of(Number, o => o.Transport.LoopCount, (o, v) => o.Transport.LoopCount = v),
        Of(Number, o => o.Transport.MaxBlockingThreads, (o, v) => o.Transport.MaxBlockingThreads = v),
    ];

    public static Dictionary<string, Action<FastCgiServerOptions, string?>> Bindings { get; } =
        All.Where(static setting => setting.Bind is not null).ToDictionary(
            static setting => setting.Name, static setting => setting.Bind!, StringComparer.OrdinalIgnoreCase);

    public static IEnumerable<string> Paths =>
    [
        .. Bindings.Keys.Concat(["Transport", "Endpoints", "SendFile", "Roles", "Limits"])
            .Select(static name => $"{Root}:{name}"),
        $"{Root}:Limits:MinRequestBodyDataRate",
        $"{Root}:Limits:MinRequestBodyDataRate:BytesPerSecond",
        $"{Root}:Limits:MinRequestBodyDataRate:GracePeriod",
        $"{Root}:Endpoints:NAME:Url",
        .. ListenSettings.Names.Select(
            static name => $"{Root}:Endpoints:NAME:{char.ToUpperInvariant(name[0])}{name[1..]}"),
        $"{Root}:SendFile:PassedHeaders",
        $"{Root}:SendFile:Roots",
        $"{Root}:SendFile:Roots:NAME:Path",
        $"{Root}:SendFile:Roots:NAME:Location",
    ];

    public static string? FindLike(string path)
    {
        var (group, name) = Split(path);
        // Kestrel's name may be closer to that of another setting.
        name = All.FirstOrDefault(setting => setting.KestrelName?.Equals(
            $"Limits.{name}", StringComparison.OrdinalIgnoreCase) is true) is { } same ? Split(same.Name).Name : name;
        return Paths
            .Select(candidate => Place(candidate, group))
            .Select(candidate => (
                Path: candidate,
                Distance: GetDistance(name, Split(candidate).Name),
                IsElsewhere: !Split(candidate).Group.Equals(group, StringComparison.OrdinalIgnoreCase)))
            .Where(candidate => candidate.Distance <= (name.Length > 3 ? Math.Max(2, name.Length / 3) : 1))
            .OrderBy(static candidate => candidate.Distance + (candidate.IsElsewhere ? 1 : 0))
            .Select(static candidate => candidate.Path)
            .FirstOrDefault();
    }

    private static string Place(string candidate, string group)
    {
        var (pattern, name) = Split(candidate);
        return pattern.EndsWith(":NAME", StringComparison.Ordinal)
            && Split(group).Group.Equals(Split(pattern).Group, StringComparison.OrdinalIgnoreCase)
            ? $"{group}:{name}"
            : candidate;
    }

    private static (string Group, string Name) Split(string path)
    {
        var colon = path.LastIndexOf(':');
        return colon < 0 ? (string.Empty, path) : (path[..colon], path[(colon + 1)..]);
    }

    /// <summary>The edit distance. A name that only lacks letters, such as MaxConnections, has distance 1.</summary>
    private static int GetDistance(string written, string known)
    {
        var (left, right) = (written.ToUpperInvariant(), known.ToUpperInvariant());
        var row = Enumerable.Range(0, right.Length + 1).ToArray();
        for (var i = 1; i <= left.Length; i++)
        {
            var diagonal = row[0];
            row[0] = i;
            for (var j = 1; j <= right.Length; j++)
            {
                var above = row[j];
                row[j] = Math.Min(Math.Min(above, row[j - 1]) + 1, diagonal + (left[i - 1] == right[j - 1] ? 0 : 1));
                diagonal = above;
            }
        }

        var onlyLacksSome = row[^1] == right.Length - left.Length && left.Length >= right.Length / 2;
        return onlyLacksSome ? Math.Min(1, row[^1]) : row[^1];
    }
}

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
