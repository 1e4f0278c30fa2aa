namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Finds files by the pattern of an include: <c>*</c>, <c>?</c> and <c>[a-z]</c>, in folders too.</summary>
internal static class GlobFiles
{
    private static readonly Regex s_part = new(@"\[[^\[\]]+\]|.", RegexOptions.Singleline);

    public static bool IsPattern(string text) => text.AsSpan().ContainsAny('*', '?', '[');

    /// <summary>The matching files, in order; for a matching folder, all files below it.</summary>
    public static List<string> Find(string pattern)
    {
        var path = Path.GetFullPath(pattern);
        var root = Path.GetPathRoot(path)!;
        List<string> found = [root];
        foreach (var part in path[root.Length..]
            .Split(Path.DirectorySeparatorChar, StringSplitOptions.RemoveEmptyEntries))
            found = [.. found.SelectMany(folder => Step(folder, part))];
        return [.. found
            .SelectMany(static path => Directory.Exists(path) ? FindBelow(new DirectoryInfo(path), []) : [path])
            .Order(StringComparer.Ordinal)];
    }

    /// <summary>Whether a path matches, whether or not it exists.</summary>
    public static bool Matches(string pattern, string path)
        => IsPattern(pattern) ? CreateRegex(pattern).IsMatch(path) : pattern == path;

    /// <summary>All files below a folder. A link to a parent folder is followed only once.</summary>
    private static IEnumerable<string> FindBelow(DirectoryInfo folder, HashSet<string> seen)
    {
        var target = folder.ResolveLinkTarget(returnFinalTarget: true) ?? folder;
        if (!seen.Add(target.FullName.TrimEnd(Path.DirectorySeparatorChar)))
            return [];
        return folder.EnumerateFileSystemInfos()
            .SelectMany(entry => entry is DirectoryInfo inner ? FindBelow(inner, seen) : [entry.FullName]);
    }

    private static IEnumerable<string> Step(string folder, string part)
    {
        if (!IsPattern(part))
            return Path.Exists(Path.Combine(folder, part)) ? [Path.Combine(folder, part)] : [];
        if (!Directory.Exists(folder))
            return [];

        var regex = CreateRegex(part);
        // As in a shell, a pattern does not match hidden files.
        return Directory.EnumerateFileSystemEntries(folder)
            .Where(path => Path.GetFileName(path) is var name && (name[0] != '.' || part[0] == '.')
            && regex.IsMatch(name));
    }

    private static Regex CreateRegex(string pattern)
    {
        var text = s_part.Replace(pattern, static match => match.Value switch
        {
            "*" => "[^/]*",
            "?" => "[^/]",
            ['[', _, .., ']'] set => "[" + (set[1] == '!' ? "^" + set[2..] : set[1..])
                .Replace("\\", "\\\\", StringComparison.Ordinal),
            var letter => Regex.Escape(letter),
        });
        try
        {
            return new Regex($"^{text}$", RegexOptions.CultureInvariant | RegexOptions.NonBacktracking);
        }
        catch (Exception exception) when (exception is ArgumentException or NotSupportedException)
        {
            // The set is empty, such as [z-a]: nothing matches.
            return new Regex("(?!)");
        }
    }
}
