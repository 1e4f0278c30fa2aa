namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Finds files by a pattern of a shell, as the includes of web servers have it: <c>*</c>, <c>?</c> and <c>[a-z]</c>, in folders too.</summary>
internal static class GlobFiles
{
    private static readonly Regex s_part = new(@"\[[^\[\]]+\]|.", RegexOptions.Singleline);

    private static readonly char[] s_marks = ['*', '?', '['];

    public static bool IsPattern(string text) => text.IndexOfAny(s_marks) >= 0;

    /// <summary>The files that fit, in order; for a folder that fits, all files below it.</summary>
    public static List<string> Find(string pattern)
    {
        var path = Path.GetFullPath(pattern);
        var root = Path.GetPathRoot(path)!;
        List<string> found = [root];
        foreach (var part in path[root.Length..].Split(Path.DirectorySeparatorChar, StringSplitOptions.RemoveEmptyEntries))
            found = [.. found.SelectMany(folder => Step(folder, part))];
        return [.. found.SelectMany(static path => Directory.Exists(path) ? FindBelow(new DirectoryInfo(path), []) : [path]).Order(StringComparer.Ordinal)];
    }

    /// <summary>Whether a path fits, whether or not there is such a file.</summary>
    public static bool Matches(string pattern, string path) => IsPattern(pattern) ? CreateRegex(pattern).IsMatch(path) : pattern == path;

    /// <summary>All files of a folder and of those in it. A link to a folder above is not followed again.</summary>
    private static IEnumerable<string> FindBelow(DirectoryInfo folder, HashSet<string> seen)
        => !seen.Add((folder.ResolveLinkTarget(returnFinalTarget: true) ?? folder).FullName.TrimEnd(Path.DirectorySeparatorChar)) ? []
            : folder.EnumerateFileSystemInfos().SelectMany(entry => entry is DirectoryInfo inner ? FindBelow(inner, seen) : [entry.FullName]);

    private static IEnumerable<string> Step(string folder, string part)
    {
        if (!IsPattern(part))
            return Path.Exists(Path.Combine(folder, part)) ? [Path.Combine(folder, part)] : [];
        if (!Directory.Exists(folder))
            return [];

        var regex = CreateRegex(part);
        // As in a shell, a pattern does not stand for a hidden file.
        return Directory.EnumerateFileSystemEntries(folder).Where(path => Path.GetFileName(path) is var name && (name[0] != '.' || part[0] == '.')
            && regex.IsMatch(name));
    }

    private static Regex CreateRegex(string pattern)
    {
        var text = s_part.Replace(pattern, static match => match.Value switch
        {
            "*" => "[^/]*",
            "?" => "[^/]",
            ['[', _, .., ']'] set => "[" + (set[1] == '!' ? "^" + set[2..] : set[1..]).Replace("\\", "\\\\", StringComparison.Ordinal),
            var letter => Regex.Escape(letter),
        });
        try
        {
            return new Regex($"^{text}$", RegexOptions.CultureInvariant | RegexOptions.NonBacktracking);
        }
        catch (Exception exception) when (exception is ArgumentException or NotSupportedException)
        {
            // Of a set that is none, such as [z-a]: nothing fits.
            return new Regex("(?!)");
        }
    }
}
