namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Which requests reach the application.</summary>
internal static class ApacheReach
{
    /// <summary>Whether a section, such as <c>LocationMatch</c>, contains requests for a path.</summary>
    public static bool Covers(Directive section, string path)
    {
        var subject = section.IsAny("Files", "FilesMatch") ? path[(path.LastIndexOf('/') + 1)..] : path;
        var isPattern = section.Name.EndsWith("Match", StringComparison.OrdinalIgnoreCase);
        return section.Arguments switch
        {
            ["~", var pattern, ..] => Place.TryMatch(pattern, subject) == true,
            [var pattern, ..] when isPattern => Place.TryMatch(pattern, subject) == true,
            [var file, ..] => section.Is("Files") && GlobFiles.Matches(file, subject),
            _ => false,
        };
    }

    /// <summary>Finds lines that take style sheets and scripts by their extension.</summary>
    public static IEnumerable<Directive> FindTakenFiles(ApachePlace place)
        => place.FindGlobal("DocumentRoot")?.First?.Contains("wwwroot") == true
            ? []
            : place.Visible.Where(line
            => Place.Files.Any(file => Excludes(place, line, place.Base + file))
            && !Excludes(place, line, place.Base + "/css") && place.IsBefore(line)
            && place.Serves(place.Base + "/x"));

    /// <summary>Finds lines that refuse methods, such as those of APIs.</summary>
    public static IEnumerable<Seen> FindRefusedMethods(ApachePlace place)
        => Place.FindRefused(method => place.Visible.FirstOrDefault(
            line => line.First is not null && Refuses(place, line, method)));

    /// <summary>Finds lines that refuse <c>/.well-known</c> together with hidden files.</summary>
    public static IEnumerable<Directive> FindRefusedPath(ApachePlace place)
    {
        var path = place.Base + Place.WellKnown;
        return !place.Serves(path) ? [] : place.Visible.Where(line => line switch
        {
            { Arguments: [['4', _, _] or "gone", var pattern, ..] } when line.Is("RedirectMatch")
                => Place.TryMatch(pattern, path) == true,
            { Arguments: [var pattern, "-", var flags] } when line.Is("RewriteRule") => IsRefusal(flags)
                && place.IsOn("RewriteEngine") && !HasConditions(line) && Place.TryMatch(pattern, path) == true,
            _ => IsDenial(line) && line.Parent is { } section && IsOfUrls(section) && Covers(section, path),
        });
    }

    /// <summary>Finds guards in sections of files, which do not apply to what <c>ProxyPass</c> passes.</summary>
    public static IEnumerable<Seen> FindUnusedGuards(ApachePlace place)
        => from line in place.IsFile ? [] : place.Visible
           where IsGuard(line) && line.Parent is { First: not null }
           let path = GetPath(place, line.Parent!)
           where path is not null && place.Serves(path) && !place.Find("Require").Any(IsGuard)
           select new Seen(line.Where, $"{line.Text} in <{line.Parent!.Text}>, but ProxyPass passes {path}",
               Fix: path.Length > 1 ? $"<LocationMatch \"(?i){Guards.GetPatternBelow(path)}\">" : "<Location \"/\">");

    /// <summary>The path that a section of files seems to guard.</summary>
    private static string? GetPath(ApachePlace place, Directive section)
    {
        if (section.IsAny("Files", "FilesMatch"))
            return Guards.IsOfFiles(section.First!) ? null : "/" + Guards.ReadFirst(section.First!);
        var folder = place.FindGlobal("DocumentRoot")?.First;
        return folder is not null && section.Is("Directory") && Place.IsBelow(section.First, folder)
            ? "/" + section.First![folder.TrimEnd('/').Length..].Trim('/')
            : null;
    }

    /// <summary>Finds the line that removes the application's cookies.</summary>
    public static Directive? FindHiddenCookies(ApachePlace place) => place.Find("Header").LastOrDefault(static line
        => line.Arguments.Take(3).Contains("unset", StringComparer.OrdinalIgnoreCase)
        && line.Arguments.Contains("Set-Cookie", StringComparer.OrdinalIgnoreCase)
        && !line.Around.Any(static block => block.Is("If")
            || (block.IsAny("Files", "FilesMatch") && !Covers(block, "/x"))));

    /// <summary>Finds a cache that gives the page of one user to others.</summary>
    public static Directive? FindSharedCache(ApachePlace place) => place.Visible.FirstOrDefault(line
        => line.Is("CacheEnable") && Place.IsBelow(place.Path, line.Arguments.ElementAtOrDefault(1) ?? "/")
        && (place.IsOn("CacheStorePrivate") || place.IsOn("CacheIgnoreNoLastMod"))
        && !place.Visible.Any(static set => set.Name.StartsWith("SetEnvIf", StringComparison.OrdinalIgnoreCase)
            && set.Arguments.Contains("no-cache") && set.Text.Contains("Cookie", StringComparison.OrdinalIgnoreCase)));

    /// <summary>Whether a line excludes a path from those that are passed.</summary>
    private static bool Excludes(ApachePlace place, Directive line, string path)
        => line.Is("ProxyPassMatch") && line.Arguments is [var pattern, "!", ..]
            ? place.IsProxyPass && Place.TryMatch(pattern, path) == true
            : (line.Is("ProxyPass", "!") || line.Is("SetHandler", "none") || line.Is("SetHandler", "default-handler"))
                && line.Parent is { } section && Covers(section, path)
                && (line.Is("ProxyPass") ? place.IsProxyPass : !place.IsProxyPass);

    private static bool IsOfUrls(Directive section)
        => section.Name.StartsWith("Location", StringComparison.OrdinalIgnoreCase);

    private static bool IsDenial(Directive line)
        => line.Is("Require", "all", "denied") || line.Is("Deny", "from", "all");

    private static bool IsGuard(Directive line)
        => IsDenial(line) || (line.Is("Require") && !line.Is("Require", "all", "granted"));

    public static bool IsRefusal(string flags)
        => Regex.IsMatch(flags, @"\b(F|forbidden|G|gone|R(edirect)?=[45]\d\d)\b");

    private static bool HasConditions(Directive rule) => rule.Parent!.Block is var lines
        && lines.IndexOf(rule) is > 0 and var index && lines[index - 1].Is("RewriteCond");

    private static bool Refuses(ApachePlace place, Directive line, string method)
    {
        if (line.Is("AllowMethods"))
            return place.Applies(line) && !line.Arguments.Contains(method) && !line.Arguments.Contains("reset");
        if (line.IsAny("Limit", "LimitExcept"))
            return line.Block.Exists(IsDenial) && line.Arguments.Contains(method) == line.Is("Limit")
                && line.Around.SkipLast(1).All(place.IsAround);
        return line.Is("RewriteCond", "%{REQUEST_METHOD}") && place.IsOn("RewriteEngine") && line.Arguments.Length > 1
            && line.Parent!.Block is var lines && lines[(lines.IndexOf(line) + 1)..].FirstOrDefault()
                is { Name: var name, Arguments: [".*" or "^" or "^.*$" or "^(.*)$" or "^/", "-", var flags] }
            && name.Equals("RewriteRule", StringComparison.OrdinalIgnoreCase) && IsRefusal(flags)
            && !HasConditions(line)
            && (line.Arguments[1] is ['!', .. var pattern] ? Place.TryMatch(pattern, method) == false
                : Place.TryMatch(line.Arguments[1], method) == true);
    }
}
