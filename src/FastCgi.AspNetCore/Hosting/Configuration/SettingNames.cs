namespace FastCgi.AspNetCore.Hosting.Configuration;

internal static class SettingNames
{
    public const string Root = "FastCgi";

    public static Dictionary<string, Action<FastCgiServerOptions, string?>> Values { get; } =
        Settings.All.Where(static setting => setting.Bind is not null).ToDictionary(
            static setting => setting.Name, static setting => setting.Bind!, StringComparer.OrdinalIgnoreCase);

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
        // Kestrel's name may be closer to that of another setting.
        name = Settings.All.FirstOrDefault(setting => setting.KestrelName?.Equals(
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
