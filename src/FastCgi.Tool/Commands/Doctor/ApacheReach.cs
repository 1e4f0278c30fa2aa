namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Which requests reach the application.</summary>
internal static class ApacheReach
{
    /// <summary>Whether a section, such as <c>LocationMatch</c>, contains requests for a path.</summary>
    public static bool Covers(Directive section, string path) => section switch
    {
        { Name: var name, Arguments: ["~", var pattern, ..] }
            => Place.TryMatch(pattern, GetSubject(name, path)) == true,
        { Name: var name, First: { } pattern } when name.EndsWith("Match", StringComparison.OrdinalIgnoreCase)
            => Place.TryMatch(pattern, GetSubject(name, path)) == true,
        { First: { } file } when section.Is("Files") => GlobFiles.Matches(file, GetSubject("Files", path)),
        _ => false,
    };

    /// <summary>Finds lines that take style sheets and scripts by their extension.</summary>
    public static IEnumerable<Directive> FindTakenFiles(ApachePlace place)
        => place.FindGlobal("DocumentRoot")?.First?.Contains("wwwroot") == true
            ? []
            : place.Visible.Where(line
            => Place.Files.Any(file => Excludes(place, line, place.Base + file))
            && !Excludes(place, line, place.Base + "/css") && place.IsBefore(line)
            && place.Serves(place.Base + "/x"));

    private static string GetSubject(string section, string path)
        => section.StartsWith("Files", StringComparison.OrdinalIgnoreCase) ? path[(path.LastIndexOf('/') + 1)..] : path;

    /// <summary>Whether a line excludes a path from those that are passed.</summary>
    private static bool Excludes(ApachePlace place, Directive line, string path)
        => line.Is("ProxyPassMatch") && line.Arguments is [var pattern, "!", ..]
            ? place.IsProxyPass && Place.TryMatch(pattern, path) == true
            : (line.Is("ProxyPass", "!") || line.Is("SetHandler", "none") || line.Is("SetHandler", "default-handler"))
                && line.Parent is { } section && Covers(section, path)
                && (line.Is("ProxyPass") ? place.IsProxyPass : !place.IsProxyPass);
}
