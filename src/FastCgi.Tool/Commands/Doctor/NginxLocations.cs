namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Chooses the location of a URI like nginx (ngx_http_core_find_location).</summary>
internal static class NginxLocations
{
    // An internal redirect ends after ten rounds in nginx.
    private const int MostRedirects = 10;

    /// <summary>Finds the location of a URI or a name, and those to which it forwards the request.</summary>
    public static IEnumerable<Directive> Find(Directive server, string uri)
    {
        var found = new List<Directive>();
        for (var next = uri; next is not null && found.Count < MostRedirects;)
        {
            var path = next.Split('?')[0];
            var location = path is ['@', ..]
                ? server.Find("location", path)
                : Find(server, path, out _) ?? (server.Find("try_files") is null ? null : server);
            if (location is null || found.Contains(location))
                break;
            found.Add(location);
            next = GetRedirect(location);
        }

        return found;
    }

    /// <param name="isFinal">Whether no regular expression of an outer block can take the URI.</param>
    private static Directive? Find(Directive block, string path, out bool isFinal)
    {
        isFinal = true;
        var locations = block.Block.FindAll(static inner => inner.Is("location"));
        if (locations.Find(location => location.Arguments is ["=", var exact] && exact == path) is { } same)
            return same;

        var prefix = locations.Where(location => GetPrefix(location) is { } start
            && path.StartsWith(start, StringComparison.Ordinal)).MaxBy(static location => GetPrefix(location)!.Length);
        var inner = prefix is null ? null : Find(prefix, path, out isFinal);
        if (inner is not null && isFinal)
            return inner;

        isFinal = prefix?.Arguments is ["^~", _];
        var pattern = isFinal ? null : locations.Find(location => IsMatch(location, path));
        if (pattern is null)
            return inner ?? prefix;

        isFinal = true;
        return Find(pattern, path, out _) ?? pattern;
    }

    private static string? GetPrefix(Directive location) => location.Arguments switch
    {
        ["^~", var prefix] => prefix,
        [not (['@', ..] or ['~', ..]) and var prefix] => prefix,
        _ => null,
    };

    private static bool IsMatch(Directive location, string path)
    {
        // The operator may be a part of the same word: location ~\.php$.
        var pattern = string.Concat(location.Arguments) switch
        {
            ['~', '*', .. var text] => "(?i)" + text,
            ['~', .. var text] => text,
            _ => null,
        };
        return pattern is { Length: > 0 } && Place.TryMatch(pattern, path) == true;
    }

    /// <summary>The target to which a location forwards requests; <see langword="null"/> if it handles some.</summary>
    private static string? GetRedirect(Directive location)
        => location.Block.LastOrDefault(static inner => inner.Is("try_files") || inner.Is("rewrite")) switch
        {
            { Name: "try_files", Arguments: [_, .., ['/' or '@', ..] last] } => last,
            { Name: "rewrite", Arguments: [_, ['/', ..] target, "last"] } => target,
            _ => null,
        };
}
