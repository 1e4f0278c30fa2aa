using FastCgi.AspNetCore.Hosting.Endpoints;

namespace FastCgi.AspNetCore.Hosting.Configuration;

using static SettingValues;

/// <summary>The settings of the section <c>FastCgi</c>.</summary>
internal static class KnownSettings
{
    public const string Root = "FastCgi";

    /// <summary>The settings with one value, by their path below the root.</summary>
    public static Dictionary<string, Action<IConfigurationSection, FastCgiServerOptions>> Values { get; } =
        new(StringComparer.OrdinalIgnoreCase)
        {
            ["AllowSynchronousIO"] = static (setting, options) => options.AllowSynchronousIO = Flag(setting),
            ["AllowUnverifiedClientCertificate"] =
                static (setting, options) => options.AllowUnverifiedClientCertificate = Flag(setting),
            ["EnableAdvice"] = static (setting, options) => options.EnableAdvice = Flag(setting),
            ["IdleExit"] = static (setting, options) => options.IdleExit = OptionalTime(setting),
            ["PathBase"] = static (setting, options) => options.PathBase = setting.Value ?? string.Empty,
            ["PathSource"] = static (setting, options) => options.PathSource = Choice<FastCgiPathSource>(setting),
            ["PingPath"] = static (setting, options) => options.PingPath = OptionalText(setting),
            ["SlowRequestThreshold"] =
                static (setting, options) => options.SlowRequestThreshold = OptionalTime(setting),
            ["TraceIdentifierParameter"] =
                static (setting, options) => options.TraceIdentifierParameter = setting.Value,
            ["TrustScriptName"] = static (setting, options) => options.TrustScriptName = Flag(setting),
            ["Limits:MaxConcurrentConnections"] =
                static (setting, options) => options.Limits.MaxConcurrentConnections = OptionalNumber(setting),
            ["Limits:MaxConcurrentRequests"] =
                static (setting, options) => options.Limits.MaxConcurrentRequests = OptionalNumber(setting),
            ["Limits:RequestQueueLimit"] =
                static (setting, options) => options.Limits.RequestQueueLimit = Number(setting),
            ["Limits:RequestQueueTimeout"] =
                static (setting, options) => options.Limits.RequestQueueTimeout = OptionalTime(setting),
            ["Limits:MaxRequestsPerConnection"] =
                static (setting, options) => options.Limits.MaxRequestsPerConnection = Number(setting),
            ["Limits:MaxRequestParametersTotalSize"] =
                static (setting, options) => options.Limits.MaxRequestParametersTotalSize = Number(setting),
            ["Limits:MaxRequestParameterCount"] =
                static (setting, options) => options.Limits.MaxRequestParameterCount = Number(setting),
            ["Limits:MaxRequestBodySize"] =
                static (setting, options) => options.Limits.MaxRequestBodySize = OptionalNumber(setting),
            ["Limits:MaxRequestBufferSize"] =
                static (setting, options) => options.Limits.MaxRequestBufferSize = OptionalNumber(setting),
            ["Limits:MaxResponseBufferSize"] =
                static (setting, options) => options.Limits.MaxResponseBufferSize = OptionalNumber(setting),
            ["Limits:MaxStandardErrorSize"] =
                static (setting, options) => options.Limits.MaxStandardErrorSize = OptionalNumber(setting),
            ["Limits:RequestParametersTimeout"] =
                static (setting, options) => options.Limits.RequestParametersTimeout = Time(setting),
            ["Limits:UnreadBodyTimeout"] =
                static (setting, options) => options.Limits.UnreadBodyTimeout = Time(setting),
            ["Limits:SendTimeout"] = static (setting, options) => options.Limits.SendTimeout = OptionalTime(setting),
            ["Limits:KeepAliveTimeout"] =
                static (setting, options) => options.Limits.KeepAliveTimeout = OptionalTime(setting),
            ["Limits:ShutdownIdleGracePeriod"] =
                static (setting, options) => options.Limits.ShutdownIdleGracePeriod = Time(setting),
            ["Limits:LingerTimeout"] = static (setting, options) => options.Limits.LingerTimeout = Time(setting),
            ["Transport:Engine"] =
                static (setting, options) => options.Transport.Engine = Choice<FastCgiTransportEngine>(setting),
            ["Transport:ApplicationScheduling"] =
                static (setting, options) => options.Transport.ApplicationScheduling =
                    Choice<FastCgiApplicationScheduling>(setting),
            ["Transport:LoopCount"] = static (setting, options) => options.Transport.LoopCount = Number(setting),
            ["Transport:MaxBlockingThreads"] =
                static (setting, options) => options.Transport.MaxBlockingThreads = Number(setting),
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
