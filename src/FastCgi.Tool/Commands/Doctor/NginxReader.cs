namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Reads nginx's blocks and directives, from files or from the output of <c>nginx -T</c>.</summary>
internal sealed class NginxReader(DoctorReport report, string main, Dictionary<string, string> files)
    : ConfigurationReader(report, main, "/etc/nginx")
{
    // ${name} is part of a word.
    private static readonly Regex s_word = new("""
        \#[^\n]*|"(?<quoted>(?:\\.|[^"\\])*)(?:"|\z)|'(?<quoted>(?:\\.|[^'\\])*)(?:'|\z)|
        (?<word>[;{}]|(?:\$\{[^}]*\}?|[^\s;{}"'])(?:\$\{[^}]*\}?|[^\s;{])*)|\n
        """, RegexOptions.Singleline | RegexOptions.IgnorePatternWhitespace);

    // Ignores braces in texts and comments of Lua.
    private static readonly Regex s_lua = new("""
        (?<!\#[^\n]*)(?<start>\b\w+_by_lua_block\s*\{)(?<code>(?>
            "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \[\[.*?\]\] | --[^\n]* |
            (?<open>\{) | (?<-open>\}) | [^{}])*?)(?(open)(?!))\}
        """, RegexOptions.Singleline | RegexOptions.IgnorePatternWhitespace, TimeSpan.FromSeconds(2));

    private static readonly Regex s_fileMark = new(@"^# configuration file (?<file>.+):\r?\n", RegexOptions.Multiline);

    public static Directive Read(DoctorReport report, string file, string text)
    {
        var parts = s_fileMark.Split(text);
        var files = new Dictionary<string, string>(StringComparer.Ordinal);
        foreach (var part in parts.Skip(1).Chunk(2))
            files[part[0]] = part[1];
        var main = parts.ElementAtOrDefault(1) ?? file;
        return new NginxReader(report, main, files).Read(files.GetValueOrDefault(main, text));
    }

    protected override void Parse(string text)
    {
        var words = new List<ConfigurationWord>();
        foreach (var word in Split(s_word, SkipLua(text)))
        {
            if (word.IsQuoted || word.Text is not (";" or "{" or "}"))
            {
                words.Add(word);
                continue;
            }

            if (word.Text != "}" && (words.Count > 0 || word.Text == "{"))
                AddDirective(words, word);
            words.Clear();
            if (word.Text == "}" && !Close())
                return;
        }
    }

    protected override List<string> FindFiles(string pattern)
    {
        var path = Path.Combine(GetFolders().First(), pattern);
        var known = files.Keys.Where(name => GlobFiles.Matches(path, name)).Order(StringComparer.Ordinal).ToList();
        var found = files.Count > 0 ? known : base.FindFiles(pattern);
        return found.Count == 0 && IsShipped(pattern) ? [pattern] : found;
    }

    protected override string GetText(string name)
    {
        if (files.TryGetValue(name, out var text))
            return text;
        if (Path.IsPathRooted(name) && Path.Exists(name) && (!IsShipped(name) || IsBelow(Path.GetDirectoryName(name)!)))
            return base.GetText(name);
        if (IsOfOthers(name))
            return "";
        // For a configuration from another machine. Debian's file has another line.
        Report.AddFact($"{name}: the copy of nginx.org was read, not a file of this machine");
        return ToolCommand.ReadResource("fastcgi_params");
    }

    /// <summary>Whether a file is one that nginx ships, with the usual content on another machine.</summary>
    private static bool IsShipped(string file)
        => Path.GetFileName(file) is "fastcgi_params" or "fastcgi.conf" || IsOfOthers(file);

    /// <summary>Whether a file that nginx ships has no line for FastCGI.</summary>
    private static bool IsOfOthers(string file)
        => Path.GetFileName(file) is "mime.types" or "uwsgi_params" or "scgi_params";

    /// <summary>Removes the code of <c>content_by_lua_block</c> and similar blocks of OpenResty, but no line.</summary>
    private static string SkipLua(string text)
    {
        try
        {
            return s_lua.Replace(text, static match
                => match.Groups["start"].Value + new string('\n', match.Groups["code"].ValueSpan.Count('\n')) + "}");
        }
        catch (RegexMatchTimeoutException)
        {
            // Not a configuration: many blocks are not closed.
            return text;
        }
    }

    private void AddDirective(List<ConfigurationWord> words, ConfigurationWord end)
    {
        var first = words.Count > 0 ? words[0] : end with { Text = "" };
        var directive = Add(first.Text, [.. words.Skip(1).Select(static word => word.Text)], first.Line);
        if (end.Text == "{")
            Open(directive);
        else if (directive.Name == "include")
            Include(directive);
    }
}
