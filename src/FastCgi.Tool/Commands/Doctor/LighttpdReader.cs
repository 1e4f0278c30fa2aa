using System.Text.RegularExpressions;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A value of lighttpd: a text, or a list of values with their keys.</summary>
internal sealed record LighttpdValue(string? Text, IReadOnlyList<(string? Key, LighttpdValue Value)> Items)
{
    /// <summary>The value of a key.</summary>
    public LighttpdValue? this[string key] => Items.LastOrDefault(item => item.Key == key).Value;

    /// <summary>All texts in it.</summary>
    public IEnumerable<string> Texts => Text is not null ? [Text] : Items.SelectMany(static item => item.Value.Texts);
}

/// <summary>A line that sets something, with the conditions around it.</summary>
internal sealed record LighttpdDirective(string Name, LighttpdValue Value, string File, int Line, IReadOnlyList<string> Conditions)
{
    public string Where => $"{File}:{Line}";
}

/// <summary>Reads lighttpd's configuration, and follows includes. <c>include_shell</c> would run a program, and is skipped.</summary>
internal sealed partial class LighttpdReader
{
    private const int DeepestInclude = 16;
    private const int DeepestList = 200;
    private const int MostIncludes = 1_000;

    private readonly Dictionary<string, LighttpdValue> _variables = new(StringComparer.Ordinal);
    private readonly List<LighttpdDirective> _directives = [];
    private readonly Stack<string> _conditions = new();
    private readonly ConfigurationFiles _contents = new();
    private readonly string _folder;
    private readonly DoctorReport _report;
    private List<(string Text, bool IsQuoted, int Line)> _tokens = [];
    private string _file;
    private int _position;
    private int _includes;
    private int _lists;

    private LighttpdReader(string file, DoctorReport report)
    {
        _report = report;
        _file = file;
        _folder = Path.GetDirectoryName(Path.GetFullPath(file))!;
    }

    public static List<LighttpdDirective> Read(string file, string text, DoctorReport report)
    {
        var reader = new LighttpdReader(file, report);
        reader.Parse(file, text, depth: 0);
        return reader._directives;
    }

    private void Parse(string file, string text, int depth)
    {
        var (tokens, position, before) = (_tokens, _position, _file);
        (_tokens, _position, _file) = (Tokenize(text), 0, file);
        while (_position < _tokens.Count)
            ReadStatement(depth);
        (_tokens, _position, _file) = (tokens, position, before);
    }

    private void ReadStatement(int depth)
    {
        var (text, isQuoted, line) = _tokens[_position++];
        if (!isQuoted && text == "}")
        {
            _conditions.TryPop(out _);
        }
        else if (!isQuoted && (text[0] == '$' || text == "else"))
        {
            // $HTTP["url"] =~ "^/app" {
            var start = _position - 1;
            while (_position < _tokens.Count && !Is("{"))
                _position++;
            _conditions.Push(string.Join(' ', _tokens[start.._position].Select(static token => token.Text)));
            _position++;
        }
        else if (text is "include" && _position < _tokens.Count)
        {
            Include(ReadValue(), depth);
        }
        else if (text is "include_shell")
        {
            _report.AddNotUnderstood($"{_file}:{line}: include_shell is not run");
        }
        else if (Is("=") || Is("+=") || Is(":="))
        {
            var isMore = _tokens[_position++].Text == "+=";
            var value = ReadValue();
            if (text.StartsWith("var.", StringComparison.Ordinal) || !text.Contains('.', StringComparison.Ordinal))
                _variables[text] = isMore && _variables.TryGetValue(text, out var old) ? new LighttpdValue(null, [.. old.Items, .. value.Items]) : value;
            _directives.Add(new LighttpdDirective(text, value, _file, line, [.. _conditions.Reverse()]));
        }
    }

    private void Include(LighttpdValue pattern, int depth)
    {
        if (pattern.Text is not { } text || depth >= DeepestInclude || _includes++ >= MostIncludes)
            return;

        foreach (var root in new[] { _folder, "/etc/lighttpd" })
        {
            var found = GlobFiles.Find(Path.Combine(root, text));
            foreach (var file in found)
                Parse(file, _contents.Read(file), depth + 1);
            if (found.Count > 0)
                return;
        }

        if (!GlobFiles.IsPattern(text))
            _report.AddNotUnderstood($"{_file}: include \"{text}\": there is no such file");
    }

    private LighttpdValue ReadValue()
    {
        var value = ReadTerm();
        // A plus joins texts and lists.
        while (Is("+"))
        {
            _position++;
            var next = ReadTerm();
            value = value.Text is not null || next.Text is not null ? new LighttpdValue(value.Text + next.Text, [])
                : new LighttpdValue(null, [.. value.Items, .. next.Items]);
        }

        return value;
    }

    private LighttpdValue ReadTerm()
    {
        if (_position >= _tokens.Count)
            return new LighttpdValue("", []);
        var (text, isQuoted, _) = _tokens[_position++];
        if (isQuoted || text != "(")
            return !isQuoted && _variables.TryGetValue(text, out var variable) ? variable : new LighttpdValue(text, []);

        if (_lists++ == DeepestList)
            throw new ToolException(ExitCode.CannotRun, $"{_file}: this is not a lighttpd configuration: more than {DeepestList} nested lists.");
        var items = new List<(string?, LighttpdValue)>();
        while (_position < _tokens.Count && !Is(")"))
        {
            var item = ReadValue();
            string? key = null;
            if (Is("=>"))
            {
                _position++;
                (key, item) = (item.Text, ReadValue());
            }

            items.Add((key, item));
            if (Is(","))
                _position++;
        }

        _position++;
        _lists--;
        return new LighttpdValue(null, items);
    }

    private bool Is(string mark) => _position < _tokens.Count && !_tokens[_position].IsQuoted && _tokens[_position].Text == mark;

    private static List<(string Text, bool IsQuoted, int Line)> Tokenize(string text)
    {
        var tokens = new List<(string, bool, int)>();
        var line = 1;
        foreach (Match match in Token().Matches(text))
        {
            if (match.Groups["end"].Success)
                line++;
            else if (match.Groups["quoted"].Success)
                tokens.Add((match.Groups["quoted"].Value.Replace("\\\"", "\"", StringComparison.Ordinal), true, line));
            else if (match.Groups["word"].Success)
                tokens.Add((match.Groups["word"].Value, false, line));
        }

        return tokens;
    }

    [GeneratedRegex("""(?<end>\n)|\#[^\n]*|"(?<quoted>(?:\\.|[^"\\])*)"|'(?<quoted>[^']*)'|(?<word>=>|\+=|:=|=\^|=\$|==|!=|=~|!~|=|\+|[(){},]|\$[A-Z_]+\["[^"]*"\]|[\w.\-/:]+)|[^\n]""")]
    private static partial Regex Token();
}
