namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A request of a stranger for a path, perhaps with a header that names an address.</summary>
internal sealed record Visit(string Path, bool HasHeader = false)
{
    public string DecodedPath => Uri.UnescapeDataString(Path);

    /// <summary>Whether the path matches any of these patterns.</summary>
    public Chance Test(params IEnumerable<string> patterns) => Guards.Test(DecodedPath, patterns);
}

/// <summary>Lines that refuse strangers, but not all requests that the application accepts.</summary>
internal static class Guards
{
    public const string OtherSpelling =
        "any client passes the guard, because the application ignores the case of paths, and a slash at the end";

    private const string ByHeader = "any client passes the guard, with a header";

    private const int MostPaths = 50;

    private static readonly Regex s_address = new(
        "(x[-_](forwarded[-_]for|original[-_]forwarded[-_]for|real[-_]ip|client[-_]ip|cluster[-_]client[-_]ip)"
        + "|cf[-_]connecting[-_]ip|(true|fastly)[-_]client[-_]ip)", RegexOptions.IgnoreCase);
    private static readonly Regex s_path = new(@"(?<![\w.@:/])/[A-Za-z][\w/-]*(?![\w.])");
    private static readonly Regex s_file = new(@"\.|php|/wp-|cgi-bin|/(vendor|etc)/");

    /// <summary>Whether a text has the name of a header that load balancers use for the client's address.</summary>
    public static bool NamesAddress(string text) => s_address.IsMatch(text);

    /// <summary>Whether a path is of PHP or of hidden files.</summary>
    public static bool IsOfFiles(string path) => s_file.IsMatch(path);

    /// <summary>The first alternatives of a pattern.</summary>
    public static string ReadFirst(string pattern) => Regex.Replace(Regex.Replace(
        pattern.Replace("(?i)", ""), @"\((?:\?:)?([^|()]*)[^()]*\)", "$1"), @"[\^$?]", "");

    /// <summary>The pattern of a test with the name that a web server gives it.</summary>
    public static string GetPattern(string? test, string text) => test switch
    {
        "reg" or "matches" or "=~" or "!~" => text,
        "beg" or "startsWith" or "=^" => "^" + Regex.Escape(text),
        "end" or "endsWith" or "=$" => Regex.Escape(text) + "$",
        "sub" => Regex.Escape(text),
        "dir" => $"/{Regex.Escape(text.Trim('/'))}(/|$)",
        "path" => "(?i)^" + Regex.Escape(text).Replace("\\*", ".*") + "$",
        _ => $"^{Regex.Escape(text)}$",
    };

    public static Chance Test(string text, params IEnumerable<string> patterns)
        => patterns.Any(pattern => Place.TryMatch(pattern, text) == true) ? Chance.Always : Chance.Never;

    /// <summary>The pattern of a path and all below it.</summary>
    public static string GetPatternBelow(string path) => $"^{path.TrimEnd('/')}(/|$)";

    /// <summary>The pattern of a guard for all spellings.</summary>
    public static string Widen(Directive guard, string path)
    {
        if (guard.Arguments.FirstOrDefault(static word => word is ['^', '/', _, ..]) is not { } pattern)
            return GetPatternBelow(path);
        return pattern is [.., '/' or '$'] ? pattern.TrimEnd('/', '$') + "(/|$)" : pattern;
    }

    /// <summary>Finds guards that another spelling of their path passes, or a header with an address.</summary>
    /// <param name="texts">Texts with the paths of guards.</param>
    /// <param name="find">Finds the line that refuses a request.</param>
    public static IEnumerable<Seen> Find(Place place, IEnumerable<string> texts, Func<Visit, Directive?> find,
        Func<Directive, string, string> getFix, string headerFix)
        => from path in texts.SelectMany(static text => s_path.Matches(ReadFirst(text)))
               .Select(static match => match.Value).Where(static path => !IsOfFiles(path)).Take(MostPaths)
               .Append("/x").Distinct()
           where place.Gets(path)
           let guard = find(new(path))
           where guard is not null
           let other = place.Respell(path).FirstOrDefault(other => place.Gets(other) && find(new(other)) is null)
           from seen in new[]
           {
               find(new(path, HasHeader: true)) is not null ? null
                   : new Seen(guard.Where, $"{guard.Text} trusts a header", ByHeader, headerFix),
               other is null ? null
                   : new Seen(guard.Where, $"{guard.Text} guards {path}, but not {other}", Fix: getFix(guard, path)),
           }
           where seen is not null
           group seen by (seen.Where, seen.Effect) into same
           select same.First();
}
