using FastCgi.AspNetCore.Hosting.Endpoints;

namespace FastCgi.AspNetCore.Hosting.Configuration;

using static SettingValues;

/// <summary>The settings of the section <c>FastCgi</c>.</summary>
internal static class KnownSettings
{
    public const string Root = "FastCgi";

    /// <summary>The settings with one value, by their path below the root.</summary>
    public static Dictionary<string, Action<string?, FastCgiServerOptions>> Values { get; } =
        new(StringComparer.OrdinalIgnoreCase)
        {
            ["AllowSynchronousIO"] = static (value, options) => options.AllowSynchronousIO = Flag(value),
            ["AllowUnverifiedClientCertificate"] =
                static (value, options) => options.AllowUnverifiedClientCertificate = Flag(value),
            ["EnableAdvice"] = static (value, options) => options.EnableAdvice = Flag(value),
            ["IdleExit"] = static (value, options) => options.IdleExit = OptionalTime(value),
            ["PathBase"] = static (value, options) => options.PathBase = value ?? string.Empty,
            ["PathSource"] = static (value, options) => options.PathSource = Choice<FastCgiPathSource>(value),
            ["PingPath"] = static (value, options) => options.PingPath = OptionalText(value),
            ["SlowRequestThreshold"] = static (value, options) => options.SlowRequestThreshold = OptionalTime(value),
            ["TraceIdentifierParameter"] = static (value, options) => options.TraceIdentifierParameter = value,
            ["TrustScriptName"] = static (value, options) => options.TrustScriptName = Flag(value),
            ["Limits:MaxConcurrentConnections"] =
                static (value, options) => options.Limits.MaxConcurrentConnections = OptionalNumber(value),
            ["Limits:MaxConcurrentRequests"] =
                static (value, options) => options.Limits.MaxConcurrentRequests = OptionalNumber(value),
            ["Limits:RequestQueueLimit"] = static (value, options) => options.Limits.RequestQueueLimit = Number(value),
            ["Limits:RequestQueueTimeout"] =
                static (value, options) => options.Limits.RequestQueueTimeout = OptionalTime(value),
            ["Limits:MaxRequestsPerConnection"] =
                static (value, options) => options.Limits.MaxRequestsPerConnection = Number(value),
            ["Limits:MaxRequestParametersTotalSize"] =
                static (value, options) => options.Limits.MaxRequestParametersTotalSize = Number(value),
            ["Limits:MaxRequestParameterCount"] =
                static (value, options) => options.Limits.MaxRequestParameterCount = Number(value),
            ["Limits:MaxRequestBodySize"] =
                static (value, options) => options.Limits.MaxRequestBodySize = OptionalNumber(value),
            ["Limits:MaxRequestBufferSize"] =
                static (value, options) => options.Limits.MaxRequestBufferSize = OptionalNumber(value),
            ["Limits:MaxResponseBufferSize"] =
                static (value, options) => options.Limits.MaxResponseBufferSize = OptionalNumber(value),
            ["Limits:MaxStandardErrorSize"] =
                static (value, options) => options.Limits.MaxStandardErrorSize = OptionalNumber(value),
            ["Limits:RequestParametersTimeout"] =
                static (value, options) => options.Limits.RequestParametersTimeout = Time(value),
            ["Limits:UnreadBodyTimeout"] = static (value, options) => options.Limits.UnreadBodyTimeout = Time(value),
            ["Limits:SendTimeout"] = static (value, options) => options.Limits.SendTimeout = OptionalTime(value),
            ["Limits:KeepAliveTimeout"] =
                static (value, options) => options.Limits.KeepAliveTimeout = OptionalTime(value),
            ["Limits:ShutdownIdleGracePeriod"] =
                static (value, options) => options.Limits.ShutdownIdleGracePeriod = Time(value),
            ["Limits:LingerTimeout"] = static (value, options) => options.Limits.LingerTimeout = Time(value),
            ["Transport:Engine"] =
                static (value, options) => options.Transport.Engine = Choice<FastCgiTransportEngine>(value),
            ["Transport:ApplicationScheduling"] = static (value, options) => options.Transport.ApplicationScheduling =
                    Choice<FastCgiApplicationScheduling>(value),
            ["Transport:LoopCount"] = static (value, options) => options.Transport.LoopCount = Number(value),
            ["Transport:MaxBlockingThreads"] =
                static (value, options) => options.Transport.MaxBlockingThreads = Number(value),
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

    /// <summary>Suggests a setting for an unknown path.</summary>
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

    /// <summary>Replaces NAME in a candidate if it is in the same group.</summary>
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
