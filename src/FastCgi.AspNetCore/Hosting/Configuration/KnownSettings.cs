using FastCgi.AspNetCore.Hosting.Endpoints;

namespace FastCgi.AspNetCore.Hosting.Configuration;

using static SettingValues;

/// <summary>The settings of the section <c>FastCgi</c>.</summary>
internal static class KnownSettings
{
    public const string Root = "FastCgi";

    /// <summary>The settings with one value, by their path below the root.</summary>
    public static Dictionary<string, Action<string?, FastCgiServerOptions>> Values { get; } = new(
        StringComparer.OrdinalIgnoreCase)
    {
        ["AllowSynchronousIO"] = (value, o) => o.AllowSynchronousIO = Flag(value),
        ["AllowUnverifiedClientCertificate"] = (value, o) => o.AllowUnverifiedClientCertificate = Flag(value),
        ["EnableAdvice"] = (value, o) => o.EnableAdvice = Flag(value),
        ["IdleExit"] = (value, o) => o.IdleExit = OptionalTime(value),
        ["PathBase"] = (value, o) => o.PathBase = value ?? string.Empty,
        ["PathSource"] = (value, o) => o.PathSource = Choice<FastCgiPathSource>(value),
        ["PingPath"] = (value, o) => o.PingPath = value is "" ? null : value,
        ["SlowRequestThreshold"] = (value, o) => o.SlowRequestThreshold = OptionalTime(value),
        ["TraceIdentifierParameter"] = (value, o) => o.TraceIdentifierParameter = value,
        ["TrustScriptName"] = (value, o) => o.TrustScriptName = Flag(value),
        ["Limits:MaxConcurrentConnections"] = (value, o) => o.Limits.MaxConcurrentConnections = OptionalNumber(value),
        ["Limits:MaxConcurrentRequests"] = (value, o) => o.Limits.MaxConcurrentRequests = OptionalNumber(value),
        ["Limits:RequestQueueLimit"] = (value, o) => o.Limits.RequestQueueLimit = Number(value),
        ["Limits:RequestQueueTimeout"] = (value, o) => o.Limits.RequestQueueTimeout = OptionalTime(value),
        ["Limits:MaxRequestsPerConnection"] = (value, o) => o.Limits.MaxRequestsPerConnection = Number(value),
        ["Limits:MaxRequestParametersTotalSize"] = (value, o) => o.Limits.MaxRequestParametersTotalSize = Number(value),
        ["Limits:MaxRequestParameterCount"] = (value, o) => o.Limits.MaxRequestParameterCount = Number(value),
        ["Limits:MaxRequestBodySize"] = (value, o) => o.Limits.MaxRequestBodySize = OptionalNumber(value),
        ["Limits:MaxRequestBufferSize"] = (value, o) => o.Limits.MaxRequestBufferSize = OptionalNumber(value),
        ["Limits:MaxResponseBufferSize"] = (value, o) => o.Limits.MaxResponseBufferSize = OptionalNumber(value),
        ["Limits:MaxStandardErrorSize"] = (value, o) => o.Limits.MaxStandardErrorSize = OptionalNumber(value),
        ["Limits:RequestParametersTimeout"] = (value, o) => o.Limits.RequestParametersTimeout = Time(value),
        ["Limits:UnreadBodyTimeout"] = (value, o) => o.Limits.UnreadBodyTimeout = Time(value),
        ["Limits:SendTimeout"] = (value, o) => o.Limits.SendTimeout = OptionalTime(value),
        ["Limits:KeepAliveTimeout"] = (value, o) => o.Limits.KeepAliveTimeout = OptionalTime(value),
        ["Limits:ShutdownIdleGracePeriod"] = (value, o) => o.Limits.ShutdownIdleGracePeriod = Time(value),
        ["Limits:LingerTimeout"] = (value, o) => o.Limits.LingerTimeout = Time(value),
        ["Transport:ApplicationScheduling"] = (value, o) =>
            o.Transport.ApplicationScheduling = Choice<FastCgiApplicationScheduling>(value),
        ["Transport:LoopCount"] = (value, o) => o.Transport.LoopCount = Number(value),
        ["Transport:MaxBlockingThreads"] = (value, o) => o.Transport.MaxBlockingThreads = Number(value),
    };

    // Kestrel names that are closer to the name of another setting.
    private static readonly Dictionary<string, string> s_kestrelNames = new(StringComparer.OrdinalIgnoreCase)
    {
        ["RequestHeadersTimeout"] = nameof(FastCgiServerLimits.RequestParametersTimeout),
        ["MaxRequestHeaderCount"] = nameof(FastCgiServerLimits.MaxRequestParameterCount),
        ["MaxRequestHeadersTotalSize"] = nameof(FastCgiServerLimits.MaxRequestParametersTotalSize),
    };

    public static IEnumerable<string> Paths =>
    [
        .. Values.Keys.Concat(["Transport", "Endpoints", "SendFile", "Roles", "Limits"])
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
        name = s_kestrelNames.GetValueOrDefault(name, name);
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
