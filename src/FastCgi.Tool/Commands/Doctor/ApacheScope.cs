namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Whether the sections of a directive contain the requests of a place.</summary>
internal sealed class ApacheScope(Directive pass, string path, string target)
{
    private static readonly string[] s_conditions = ["If", "ElseIf", "Else", "Limit", "LimitExcept"];
    private static readonly TimeSpan s_matchTime = TimeSpan.FromMilliseconds(100);

    /// <summary>Whether the path is mapped to a file. Before that, <c>ProxyPass</c> has taken the request.</summary>
    private readonly bool _isFile = pass.Is("SetHandler") || pass.FindAround("Directory") is not null
        || pass.FindAround("Files") is not null
        || (pass.Is("RewriteRule") && pass.FindAround("VirtualHost") is null);

    /// <summary>Whether a directive applies, perhaps only to some requests.</summary>
    public bool Contains(Directive directive) => directive.Around.SkipLast(1).All(IsAround);

    /// <summary>Whether a pattern matches a URL of the place, or cannot be understood.</summary>
    public bool Matches(string pattern)
    {
        var start = path.TrimEnd('/');
        return pattern.StartsWith('!') || IsMatch(pattern, path, start + "/", start + "/x");
    }

    /// <summary>Whether a directive applies only to some of the requests of its sections.</summary>
    public static bool IsConditional(Directive directive)
        => directive.Around.Any(static section => s_conditions.Any(condition => section.Is(condition)));

    private static bool IsMatch(string pattern, params string[] texts)
    {
        try
        {
            var regex = new Regex(pattern, RegexOptions.CultureInvariant, s_matchTime);
            return texts.Any(regex.IsMatch);
        }
        catch (Exception exception) when (exception is ArgumentException or RegexMatchTimeoutException)
        {
            return true;
        }
    }

    public bool IsAround(Directive section) => pass.Around.Contains(section) || section.Name.ToLowerInvariant() switch
    {
        "location" when section.First is "~" => Matches(section.Arguments.ElementAtOrDefault(1) ?? ""),
        "location" => Place.IsBelow(path.TrimEnd('/'), section.First ?? ""),
        "locationmatch" => Matches(section.First ?? ""),
        "ifmodule" => section.First is not ['!', ..],
        "virtualhost" or "ifversion" or "ifdefine" or "ifdirective" or "iffile" => true,
        "directory" or "directorymatch" or "files" or "filesmatch" => _isFile,
        // unix:/run/app.sock|fcgi://name
        "proxy" => section.First is "*" || target.StartsWith(section.First ?? "", StringComparison.Ordinal)
            || target.Split('|')[^1].StartsWith(section.First ?? "", StringComparison.Ordinal),
        "proxymatch" => IsMatch(section.First ?? "", target),
        _ => s_conditions.Any(condition => section.Is(condition)),
    };
}
