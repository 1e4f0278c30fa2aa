namespace FastCgi.Tool.Commands.Doctor;

internal sealed class ApacheReader(DoctorReport report, string file)
    : ConfigurationReader(report, file, "/etc/apache2", "/etc/httpd")
{
    private static readonly Regex s_word = new("""
        "(?<quoted>(?:\\.|[^"\\])*)"|'(?<quoted>(?:\\.|[^'\\])*)'|(?<word>\S+)
        """);
    private static readonly Regex s_variable = new(@"\$\{(?<name>\w+)\}");

    private readonly Dictionary<string, string> _variables = new(StringComparer.Ordinal);
    private string? _root;

    protected override void Parse(string text)
    {
        foreach (var (joined, number) in SplitLines(text))
        {
            var line = joined.Trim();
            if (line.StartsWith("</", StringComparison.Ordinal))
                Close();
            else if (!line.StartsWith('#'))
                ReadLine(line, number);
        }
    }

    /// <summary>Resolves a relative name in the ServerRoot: that of the file, of Debian, or of Red Hat.</summary>
    protected override IEnumerable<string> GetFolders()
        => _root is null ? base.GetFolders() : base.GetFolders().Prepend(_root);

    private void ReadLine(string line, int number)
    {
        string[] words = [.. Split(s_word, line.TrimStart('<').TrimEnd('>')).Select(word => s_variable.Replace(
            word.Text, match => _variables.GetValueOrDefault(match.Groups["name"].Value, match.Value)))];
        if (words.Length == 0)
            return;

        var directive = Add(words[0], words[1..], number);
        if (line[0] == '<')
            Open(directive);
        else if (directive.Is("Include") || directive.Is("IncludeOptional"))
            Include(directive, mayMiss: directive.Is("IncludeOptional"));
        else if (directive.Is("Use"))
            Skip(directive, $"macros are not expanded: {directive.Text}");
        else if (directive.Is("ServerRoot"))
            _root = directive.First;
        else if (directive.Is("Define") && directive.Arguments is [var name, var value])
            _variables[name] = value;
    }
}
