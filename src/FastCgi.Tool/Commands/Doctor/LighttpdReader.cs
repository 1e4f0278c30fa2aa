namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Reads lighttpd's configuration. A list is a block, whose items have their keys as names.</summary>
internal sealed class LighttpdReader(DoctorReport report, string file)
    : ConfigurationReader(report, file, "/etc/lighttpd")
{
    private static readonly Regex s_word = new("""
        \#[^\n]*|"(?<quoted>(?:\\.|[^"\\])*)"|'(?<quoted>[^']*)'|
        (?<word>=>|\+=|:=|=\^|=\$|==|!=|=~|!~|=|\+|[(){},]|\$[A-Z_]+\["[^"]*"\]|[\w.\-/:]+)|.
        """, RegexOptions.Singleline | RegexOptions.IgnorePatternWhitespace);

    private readonly Dictionary<string, Directive> _variables = new(StringComparer.Ordinal);
    private Queue<ConfigurationWord> _words = [];
    private Directive? _closed;
    private int _lists;

    protected override void Parse(string text)
    {
        var rest = _words;
        _words = new Queue<ConfigurationWord>(Split(s_word, text));
        while (_words.TryDequeue(out var word))
            ReadStatement(word);
        _words = rest;
    }

    private void ReadStatement(ConfigurationWord word)
    {
        if (word.Is("}"))
        {
            _closed = Current;
            Close();
        }
        else if (!word.IsQuoted && (word.Text[0] == '$' || word.Text == "else"))
        {
            // $HTTP["url"] =~ "^/app" {
            var name = word.Text;
            string[] before = name == "else" && _closed is not null ? [.. _closed.Arguments, _closed.Name] : [];
            while (_words.TryDequeue(out var part) && !part.Is("{"))
                name += " " + part.Text;
            Open(Current.Find([name, .. before]) ?? Add(name, before, word.Line));
        }
        else if (word.Is("include"))
        {
            var file = ReadValue("include", word.Line);
            Current.Block.Add(file);
            Include(file);
        }
        else if (word.Is("include_shell"))
        {
            Skip(Add(word.Text, [], word.Line), "include_shell is not run");
        }
        else if (Is("=") || Is("+=") || Is(":="))
        {
            var isMore = _words.Dequeue().Is("+=");
            var value = ReadValue(word.Text, word.Line);
            Current.Block.Add(value);
            if (word.Text.StartsWith("var.", StringComparison.Ordinal) || !word.Text.Contains('.'))
                _variables[word.Text] = isMore && _variables.TryGetValue(word.Text, out var old)
                    ? Join(old, value)
                    : value;
        }
    }

    /// <summary>Reads a value, in which a plus joins texts and lists.</summary>
    private Directive ReadValue(string name, int line)
    {
        var value = ReadTerm(name, line);
        while (Take("+"))
            value = Join(value, ReadTerm(name, line));
        return value;
    }

    private Directive ReadTerm(string name, int line)
    {
        if (!_words.TryDequeue(out var word))
            return Create(name, line, "");
        if (!word.Is("("))
            return !word.IsQuoted && _variables.TryGetValue(word.Text, out var variable)
                ? Join(Create(name, line), variable)
                : Create(name, line, word.Text);

        CheckDepth(++_lists);
        var list = Create(name, line);
        while (_words.Count > 0 && !Take(")"))
        {
            var item = ReadValue("", line);
            if (Take("=>"))
                item = ReadValue(item.First ?? "", line);
            list.Block.Add(item);
            Take(",");
        }

        _lists--;
        return list;
    }

    private Directive Create(string name, int line, params string[] text) => new(name, text, File, line, Current);

    private Directive Join(Directive first, Directive second)
    {
        var joined = first.First is null && second.First is null ? Create(first.Name, first.Line)
            : Create(first.Name, first.Line, first.First + second.First);
        joined.Block.AddRange(first.Block.Concat(second.Block));
        return joined;
    }

    private bool Is(string mark) => _words.TryPeek(out var word) && word.Is(mark);

    private bool Take(string mark) => Is(mark) && _words.TryDequeue(out _);
}
