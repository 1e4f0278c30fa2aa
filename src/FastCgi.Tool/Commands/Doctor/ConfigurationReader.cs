namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Reads a configuration, and follows includes. Endless files and nesting are refused.</summary>
internal abstract class ConfigurationReader(DoctorReport report, string file, params string[] folders)
{
    public const char ByteOrderMark = '\uFEFF';

    private static readonly Regex s_escape = new("""\\(["'\\])""");

    // Real configurations are four or five blocks deep.
    private const int DeepestBlock = 200;
    private const int MostIncludes = 1_000;
    private const int MostCharacters = 32 * 1024 * 1024;

    private readonly HashSet<string> _reading = new(StringComparer.Ordinal);
    private Directive _floor = null!;
    private int _characters;
    private int _includes;

    protected DoctorReport Report => report;
    protected Directive Root { get; } = new("", [], file, 0, null);
    protected Directive Current { get; set; } = null!;
    protected string File { get; private set; } = "";

    /// <summary>Whether a block of this file is open.</summary>
    protected bool IsOpen => Current != _floor;

    public Directive Read(string text)
    {
        Current = Root;
        ParseFile(file, text);
        return Root;
    }

    /// <param name="characters">The number of characters read before.</param>
    public static string ReadFile(string file, ref int characters)
    {
        // A byte order mark, which most web servers reject.
        using var reader = new StreamReader(
            file, new UTF8Encoding(encoderShouldEmitUTF8Identifier: false), detectEncodingFromByteOrderMarks: false);
        var text = new StringBuilder();
        var buffer = new char[64 * 1024];
        while (reader.Read(buffer) is > 0 and var read)
        {
            text.Append(buffer, 0, read);
            characters += read;
            if (characters > MostCharacters)
                throw CannotRun(
                    $"{file}: this is not a configuration, or it includes itself: "
                    + $"together with the files read before it, it exceeds {MostCharacters / 1024 / 1024} MiB.");
        }

        return text.ToString();
    }

    protected abstract void Parse(string text);

    protected Directive Add(string name, string[] arguments, int line)
    {
        var directive = new Directive(name, arguments, File, line, Current);
        Current.Block.Add(directive);
        return directive;
    }

    protected void Open(Directive block)
    {
        Current = block;
        CheckDepth(block.Around.Count());
    }

    /// <returns>Whether a block of this file was open.</returns>
    protected bool Close()
    {
        if (!IsOpen)
            return false;

        Current = Current.Parent!;
        return true;
    }

    protected void CheckDepth(int level)
    {
        if (level > DeepestBlock)
            throw CannotRun($"{File}: this is not a configuration: more than {DeepestBlock} nested blocks.");
    }

    /// <param name="mayMiss">Whether no file may match; <see langword="null"/> if so for a pattern.</param>
    protected void Include(Directive directive, bool? mayMiss = null)
    {
        if (directive.First is not { Length: > 0 } pattern || _includes++ >= MostIncludes)
            return;

        var files = FindFiles(pattern);
        foreach (var name in files)
            ParseFile(name, GetText(name));
        if (files.Count == 0 && !(mayMiss ?? GlobFiles.IsPattern(pattern)))
            Skip(directive, $"{directive.Text}: the file does not exist");
    }

    /// <summary>Reports a directive whose effect is unknown.</summary>
    protected void Skip(Directive directive, string message)
    {
        directive.IsUnread = true;
        report.AddNotUnderstood($"{directive.Where}: {message}");
    }

    protected virtual List<string> FindFiles(string pattern)
        => GetFolders().Select(folder => GlobFiles.Find(Path.Combine(folder, pattern)))
            .FirstOrDefault(static found => found.Count > 0) ?? [];

    protected virtual IEnumerable<string> GetFolders()
        => folders.Where(IsBelow).Prepend(Path.GetDirectoryName(Path.GetFullPath(file))!);

    /// <summary>Whether the file is in a folder. Otherwise, it may be of another machine than the folder.</summary>
    protected bool IsBelow(string folder)
        => Path.GetFullPath(file).StartsWith(folder.TrimEnd('/') + "/", StringComparison.Ordinal);

    protected virtual string GetText(string name) => ReadFile(name, ref _characters);

    /// <summary>Splits a text into lines, which a backslash continues, and the numbers of their first lines.</summary>
    protected static IEnumerable<(string Line, int Number)> SplitLines(string text)
    {
        var lines = text.Split('\n');
        for (var i = 0; i < lines.Length; i++)
        {
            var number = i + 1;
            var line = lines[i].TrimEnd();
            while (line.EndsWith('\\') && i + 1 < lines.Length)
                line = line[..^1] + lines[++i].TrimEnd();
            yield return (line, number);
        }
    }

    protected static IEnumerable<ConfigurationWord> Split(Regex form, string text)
    {
        var line = 1;
        foreach (Match match in form.Matches(text))
        {
            var quoted = match.Groups["quoted"];
            if (quoted.Success || match.Groups["word"].Success)
                yield return new ConfigurationWord(quoted.Success
                    ? s_escape.Replace(quoted.Value, "$1")
                    : match.Value, line, quoted.Success);
            line += match.ValueSpan.Count('\n');
        }
    }

    private void ParseFile(string name, string text)
    {
        var (file, floor) = (File, _floor);
        (File, _floor) = (name, Current);
        // A file may include itself.
        if (_reading.Add(Path.GetFullPath(name)))
        {
            Parse(text.TrimStart(ByteOrderMark));
            _reading.Remove(Path.GetFullPath(name));
        }

        while (Close())
            continue;
        (File, _floor) = (file, floor);
    }
}

internal readonly record struct ConfigurationWord(string Text, int Line, bool IsQuoted)
{
    public bool Is(string mark) => !IsQuoted && Text == mark;
}
