using System.Text.RegularExpressions;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A directive of Apache, with the sections around it, the outermost first.</summary>
internal sealed record ApacheDirective(string Name, string[] Arguments, string File, int Line, IReadOnlyList<ApacheSection> Sections)
{
    public string Where => $"{File}:{Line}";

    /// <summary>The virtual host it is in, if it is in one.</summary>
    public ApacheSection? Host => Sections.FirstOrDefault(static section => section.Name == "virtualhost");

    public string Text => string.Join(' ', Arguments.Prepend(Name));

    public bool Is(string name) => Name.Equals(name, StringComparison.OrdinalIgnoreCase);
}

/// <summary>A section, such as <c>Location</c>.</summary>
internal sealed record ApacheSection(string Name, string Argument, string File, int Line)
{
    public string Where => $"{File}:{Line}";
}

/// <summary>Reads Apache's sections and directives, and follows includes.</summary>
internal sealed partial class ApacheReader
{
    // Apache's own limit is 128; a site has two or three.
    private const int DeepestInclude = 16;
    private const int DeepestSection = 200;

    // A file may include itself.
    private const int MostIncludes = 1_000;

    private readonly Dictionary<string, string> _variables = new(StringComparer.Ordinal);
    private readonly List<ApacheDirective> _directives = [];
    private readonly Stack<ApacheSection> _sections = new();
    private readonly ConfigurationFiles _contents = new();
    private readonly string _folder;
    private readonly DoctorReport _report;
    private string? _root;
    private int _includes;

    private ApacheReader(string folder, DoctorReport report)
    {
        _folder = folder;
        _report = report;
    }

    public static List<ApacheDirective> Read(string file, string text, DoctorReport report)
    {
        var reader = new ApacheReader(Path.GetDirectoryName(Path.GetFullPath(file))!, report);
        reader.Parse(file, text, depth: 0);
        return reader._directives;
    }

    private void Parse(string file, string text, int depth)
    {
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
                _sections.TryPop(out _);
                continue;
            }

            var words = Word().Matches(line.TrimStart('<').TrimEnd('>'))
                .Select(match => Expand(match.Groups["quoted"].Success ? match.Groups["quoted"].Value : match.Value)).ToArray();
            if (words.Length == 0)
                continue;
            if (line[0] == '<' && _sections.Count == DeepestSection)
                throw new ToolException(ExitCode.CannotRun, $"{file}:{number}: this is not an Apache configuration: more than {DeepestSection} nested sections.");
            if (line[0] == '<')
                _sections.Push(new ApacheSection(words[0].ToLowerInvariant(), words.Length > 1 ? words[^1] : "", file, number));
            else
                Add(new ApacheDirective(words[0], words[1..], file, number, [.. _sections.Reverse()]), depth);
        }
    }

    private void Add(ApacheDirective directive, int depth)
    {
        switch (directive)
        {
            case { Arguments: [var pattern] } when directive.Is("Include") || directive.Is("IncludeOptional"):
                if (depth >= DeepestInclude || _includes++ >= MostIncludes)
                    return;

                var files = Find(pattern);
                foreach (var file in files)
                    Parse(file, _contents.Read(file), depth + 1);
                if (files.Count == 0 && directive.Is("Include"))
                    _report.AddNotUnderstood($"{directive.Where}: Include {pattern}: there is no such file");
                return;
            case { Name: "Use" }:
                _report.AddNotUnderstood($"{directive.Where}: macros are not expanded: {directive.Text}");
                return;
            case { Arguments: [var root] } when directive.Is("ServerRoot"):
                _root = root;
                break;
            case { Arguments: [var name, var value] } when directive.Is("Define"):
                _variables[name] = value;
                break;
        }

        _directives.Add(directive);
    }

    /// <summary>Relative names belong to the ServerRoot: that of the file, of Debian or of Red Hat. A folder includes all files below it.</summary>
    private List<string> Find(string pattern)
    {
        string?[] roots = Path.IsPathRooted(pattern) ? [""] : [_root, _folder, "/etc/apache2", "/etc/httpd"];
        foreach (var root in roots.OfType<string>())
        {
            var found = GlobFiles.FindAll(Path.Combine(root, pattern));
            if (found.Count > 0)
                return [.. found.SelectMany(static path => (IEnumerable<string>)(Directory.Exists(path) ? GlobFiles.FindBelow(path) : [path]))];
        }

        return [];
    }

    private string Expand(string word) => Variable().Replace(word, match => _variables.GetValueOrDefault(match.Groups["name"].Value, match.Value));

    [GeneratedRegex("""
        "(?<quoted>[^"]*)"|\S+
        """)]
    private static partial Regex Word();

    [GeneratedRegex(@"\$\{(?<name>\w+)\}")]
    private static partial Regex Variable();
}
