using System.Text.RegularExpressions;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A directive of Apache, with the sections around it, the outermost first.</summary>
internal sealed record ApacheDirective(string Name, string[] Arguments, string File, int Line, IReadOnlyList<ApacheSection> Sections)
{
    public string Where => $"{File}:{Line}";

    /// <summary>The virtual host it is in; 0 for none.</summary>
    public int HostLine => Sections.FirstOrDefault(static section => section.Name == "virtualhost")?.Line ?? 0;

    public bool Is(string name) => Name.Equals(name, StringComparison.OrdinalIgnoreCase);
}

/// <summary>A section, such as <c>Location</c>.</summary>
internal sealed record ApacheSection(string Name, string Argument, int Line);

/// <summary>Reads Apache's sections and directives. Includes are not followed.</summary>
internal static partial class ApacheReader
{
    /// <summary>Whether a text looks like a configuration of Apache.</summary>
    public static bool IsLike(string text) => ApacheLine().IsMatch(text);

    public static List<ApacheDirective> Read(string file, string text)
    {
        var directives = new List<ApacheDirective>();
        var sections = new Stack<ApacheSection>();
        var lines = text.Split('\n');
        for (var i = 0; i < lines.Length; i++)
        {
            var number = i + 1;
            var line = lines[i].Trim();
            while (line.EndsWith('\\') && i + 1 < lines.Length)
                line = line[..^1] + lines[++i].Trim();
            if (line.Length == 0 || line[0] == '#')
                continue;
            if (line.StartsWith("</", StringComparison.Ordinal))
            {
                sections.TryPop(out _);
                continue;
            }

            var words = Word().Matches(line.TrimStart('<').TrimEnd('>')).Select(static match => match.Groups["quoted"].Success ? match.Groups["quoted"].Value : match.Value).ToArray();
            if (words.Length == 0)
                continue;
            if (line[0] == '<')
                sections.Push(new ApacheSection(words[0].ToLowerInvariant(), words.Length > 1 ? words[^1] : "", number));
            else
                directives.Add(new ApacheDirective(words[0], words[1..], file, number, [.. sections.Reverse()]));
        }

        return directives;
    }

    [GeneratedRegex(@"^\s*(<VirtualHost|<Location|<Directory|<Proxy|ProxyPass|SetHandler|LoadModule)\b", RegexOptions.Multiline | RegexOptions.IgnoreCase)]
    private static partial Regex ApacheLine();

    [GeneratedRegex("""
        "(?<quoted>[^"]*)"|\S+
        """)]
    private static partial Regex Word();
}
