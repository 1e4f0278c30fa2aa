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
    private List<ConfigurationWord> _words = [];
    private int _position;
    private int _lists;

    protected override void Parse(string text)
    {
        var (words, position) = (_words, _position);
        (_words, _position) = ([.. Split(s_word, text)], 0);
        while (_position < _words.Count)
            ReadStatement(_words[_position++]);
        (_words, _position) = (words, position);
    }

    private void ReadStatement(ConfigurationWord word)
    {
        if (word.Is("}"))
        {
            Close();
        }
        else if (!word.IsQuoted && (word.Text[0] == '$' || word.Text == "else"))
        {
            // $HTTP["url"] =~ "^/app" {
            var start = _position - 1;
            while (_position < _words.Count && !Is("{"))
                _position++;
            var name = string.Join(' ', _words[start.._position].Select(static part => part.Text));
            _position++;
            Open(Current.Find(name) ?? Add(name, [], word.Line));
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
            var isMore = _words[_position++].Is("+=");
            var value = ReadValue(word.Text, word.Line);
            Current.Block.Add(value);
            if (word.Text.StartsWith("var.", StringComparison.Ordinal)
                || !word.Text.Contains('.', StringComparison.Ordinal))
                _variables[word.Text] = isMore && _variables.TryGetValue(word.Text, out var old)
                    ? Join(old, value)
                    : value;
        }
    }

    /// <summary>A plus joins texts and lists.</summary>
    private Directive ReadValue(string name, int line)
    {
        var value = ReadTerm(name, line);
        while (Is("+"))
        {
            _position++;
            value = Join(value, ReadTerm(name, line));
        }

        return value;
    }

    private Directive ReadTerm(string name, int line)
    {
        if (_position >= _words.Count)
            return Create(name, line, "");
        var word = _words[_position++];
        if (!word.Is("("))
            return !word.IsQuoted && _variables.TryGetValue(word.Text, out var variable)
                ? Join(Create(name, line), variable)
                : Create(name, line, word.Text);

        CheckDepth(++_lists);
        var list = Create(name, line);
        while (_position < _words.Count && !Is(")"))
        {
            var item = ReadValue("", line);
            if (Is("=>"))
            {
                _position++;
                item = ReadValue(item.First ?? "", line);
            }

            list.Block.Add(item);
            if (Is(","))
                _position++;
        }

        _position++;
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

    private bool Is(string mark) => _position < _words.Count && _words[_position].Is(mark);
}
