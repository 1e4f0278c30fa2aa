using System.Text;
using System.Text.RegularExpressions;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Finds files by a pattern of a shell, as the includes of web servers have it: <c>*</c>, <c>?</c> and <c>[a-z]</c>, in folders too.</summary>
internal static class GlobFiles
{
    private static readonly char[] s_marks = ['*', '?', '['];
    private static readonly Regex s_nothing = new("[^\\s\\S]", RegexOptions.CultureInvariant);

    /// <summary>Whether a pattern is more than a name.</summary>
    public static bool IsPattern(string text) => text.IndexOfAny(s_marks) >= 0;

    /// <summary>The files that fit, in order.</summary>
    /// <param name="pattern">A path from the root.</param>
    public static List<string> Find(string pattern) => [.. FindAll(pattern).Where(File.Exists)];

    /// <summary>The files and folders that fit, in order.</summary>
    public static List<string> FindAll(string pattern)
    {
        if (!IsPattern(pattern))
            return Path.Exists(pattern) ? [pattern] : [];

        var found = new List<string> { Path.GetPathRoot(pattern) is { Length: > 0 } root ? root : "." };
        foreach (var part in pattern.Split(Path.DirectorySeparatorChar, StringSplitOptions.RemoveEmptyEntries))
            found = [.. found.SelectMany(folder => Step(folder, part))];
        found.Sort(StringComparer.Ordinal);
        return found;
    }

    /// <summary>All files of a folder and of those in it, in order. A folder that is a link to one above it is not gone into again.</summary>
    public static List<string> FindBelow(string folder)
    {
        var found = new List<string>();
        AddBelow(new DirectoryInfo(folder), [], found);
        found.Sort(StringComparer.Ordinal);
        return found;
    }

    /// <summary>Whether a path fits, whether or not there is such a file.</summary>
    public static bool Matches(string pattern, string path) => IsPattern(pattern) ? MakeRegex(pattern).IsMatch(path) : pattern == path;

    private static void AddBelow(DirectoryInfo folder, HashSet<string> seen, List<string> found)
    {
        if (!seen.Add((folder.ResolveLinkTarget(returnFinalTarget: true) ?? folder).FullName.TrimEnd(Path.DirectorySeparatorChar)))
            return;

        foreach (var entry in folder.EnumerateFileSystemInfos())
        {
            if (entry is DirectoryInfo inner)
                AddBelow(inner, seen, found);
            else
                found.Add(entry.FullName);
        }
    }

    private static IEnumerable<string> Step(string folder, string part)
    {
        if (!IsPattern(part))
            return Path.Exists(Path.Combine(folder, part)) ? [Path.Combine(folder, part)] : [];
        if (!Directory.Exists(folder))
            return [];

        var regex = MakeRegex(part);
        // As of a shell, a pattern does not stand for a hidden file.
        return Directory.EnumerateFileSystemEntries(folder).Where(path => Path.GetFileName(path) is var name && (name[0] != '.' || part[0] == '.')
            && regex.IsMatch(name));
    }

    private static Regex MakeRegex(string pattern)
    {
        var text = new StringBuilder("^");
        for (var i = 0; i < pattern.Length; i++)
        {
            var end = pattern[i] == '[' ? pattern.IndexOf(']', i + 1) : -1;
            if (end > i + 1)
            {
                var set = pattern[(i + 1)..end].Replace("\\", "\\\\", StringComparison.Ordinal).Replace("[", "\\[", StringComparison.Ordinal);
                text.Append('[').Append(set[0] == '!' ? "^" + set[1..] : set).Append(']');
                i = end;
                continue;
            }

            text.Append(pattern[i] switch { '*' => "[^/]*", '?' => "[^/]", var character => Regex.Escape(character.ToString()) });
        }

        try
        {
            return new Regex(text.Append('$').ToString(), RegexOptions.CultureInvariant | RegexOptions.NonBacktracking);
        }
        catch (Exception exception) when (exception is ArgumentException or NotSupportedException)
        {
            // Of a set that is none, such as [z-a]: nothing fits.
            return s_nothing;
        }
    }
}
