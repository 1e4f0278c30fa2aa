namespace FastCgi.Tool.Commands.Doctor;

/// <summary>How nginx chooses the location of a URI (ngx_http_core_find_location).</summary>
internal static class NginxLocations
{
    // An internal redirect ends after ten rounds in nginx.
    private const int MostRedirects = 10;

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(1);

    /// <summary>
    /// Finds the location that handles a URI or a name, and those to which its <c>try_files</c> and <c>rewrite</c> pass
    /// the request on.
    /// </summary>
    public static IEnumerable<Directive> Find(Directive server, string uri)
    {
        var found = new List<Directive>();
        for (var next = uri; next is not null && found.Count < MostRedirects;)
        {
            if (FindOne(server, next.Split('?')[0]) is not { } location || found.Contains(location))
                break;
            found.Add(location);
            next = GetRedirect(location);
        }

        return found;
    }

    private static Directive? FindOne(Directive server, string path) => path is ['@', ..]
        ? server.Find("location", path)
        : Find(server, path, out _);

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
        var (pattern, ignoresCase) = location.Arguments switch
        {
            ["~", var text] => (text, false),
            ["~*", var text] => (text, true),
            [['~', '*', .. var text]] => (text, true),
            [['~', .. var text]] => (text, false),
            _ => ("", false),
        };
        try
        {
            return pattern.Length > 0 && Regex.IsMatch(
                path, pattern, ignoresCase ? RegexOptions.IgnoreCase : RegexOptions.None, s_patience);
        }
        catch (Exception exception) when (exception is ArgumentException or RegexMatchTimeoutException)
        {
            // PCRE knows more than .NET.
            return false;
        }
    }

    /// <summary>Where a location passes each request on; <see langword="null"/> if it handles some.</summary>
    private static string? GetRedirect(Directive location)
        => location.Block.LastOrDefault(static inner => inner.Is("try_files") || inner.Is("rewrite")) switch
        {
            { Name: "try_files", Arguments: [_, .., ['/' or '@', ..] last] } => last,
            { Name: "rewrite", Arguments: [_, ['/', ..] target, "last"] } => target,
            _ => null,
        };
}
