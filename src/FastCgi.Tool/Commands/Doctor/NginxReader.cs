using System.Text;
using System.Text.RegularExpressions;
using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A directive of nginx, and the directives in its block.</summary>
internal sealed record NginxDirective(string Name, string[] Arguments, string File, int Line, List<NginxDirective>? Block)
{
    public string Where => $"{File}:{Line}";

    public string? First => Arguments.Length > 0 ? Arguments[0] : null;

    /// <summary>The line as it was written.</summary>
    public string Text => string.Join(' ', Arguments.Prepend(Name));
}

/// <summary>Reads nginx's blocks and directives, and follows includes.</summary>
internal sealed partial class NginxReader
{
    private const int DeepestInclude = 16;

    // Real configurations are four or five blocks deep.
    private const int DeepestBlock = 200;

    // A file may include itself.
    private const int MostIncludes = 1_000;

    // As Debian and nginx.org ship it, for a configuration from another machine.
    private const string UsualParameters =
        """
        fastcgi_param QUERY_STRING $query_string; fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
        fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param SCRIPT_NAME $fastcgi_script_name; fastcgi_param REQUEST_URI $request_uri;
        fastcgi_param SERVER_PROTOCOL $server_protocol; fastcgi_param REQUEST_SCHEME $scheme; fastcgi_param HTTPS $https if_not_empty;
        fastcgi_param REMOTE_ADDR $remote_addr; fastcgi_param SERVER_PORT $server_port; fastcgi_param SERVER_NAME $server_name;
        """;

    private readonly Dictionary<string, string> _files = new(StringComparer.Ordinal);
    private readonly ConfigurationFiles _contents = new();
    private readonly string _folder;
    private readonly DoctorReport _report;
    private int _includes;

    private NginxReader(string folder, DoctorReport report)
    {
        _folder = folder;
        _report = report;
    }

    /// <summary>Reads a file, or the output of <c>nginx -T</c>, which contains all files.</summary>
    public static List<NginxDirective> Read(string file, string text, DoctorReport report)
    {
        var marks = FileMark().Matches(text);
        if (marks.Count == 0)
            return new NginxReader(Path.GetDirectoryName(Path.GetFullPath(file))!, report).Parse(text, file, 1, 0);

        var reader = new NginxReader(Path.GetDirectoryName(marks[0].Groups["file"].Value) ?? "/", report);
        for (var i = 0; i < marks.Count; i++)
        {
            var start = marks[i].Index + marks[i].Length;
            var end = i + 1 < marks.Count ? marks[i + 1].Index : text.Length;
            reader._files[marks[i].Groups["file"].Value] = text[start..end];
        }

        var main = marks[0].Groups["file"].Value;
        return reader.Parse(reader._files[main], main, 1, 0);
    }

    private List<NginxDirective> Parse(string text, string file, int line, int depth)
    {
        var tokens = Tokenize(text, line);
        var position = 0;
        return ParseBlock(tokens, ref position, file, depth, level: 0);
    }

    private List<NginxDirective> ParseBlock(List<(string Text, int Line, bool IsQuoted)> tokens, ref int position, string file, int depth, int level)
    {
        var directives = new List<NginxDirective>();
        var words = new List<(string Text, int Line, bool IsQuoted)>();
        var isClosed = level == 0;
        while (position < tokens.Count)
        {
            var (text, line, isQuoted) = tokens[position++];
            if (isQuoted || text is not (";" or "{" or "}"))
            {
                words.Add((text, line, isQuoted));
                continue;
            }

            if (text == "}")
            {
                isClosed = true;
                break;
            }

            if (text == "{" && level == DeepestBlock)
                throw new ToolException(ExitCode.CannotRun, $"{file}:{line}: this is not an nginx configuration: more than {DeepestBlock} nested blocks.");
            var block = text == "{" ? ParseBlock(tokens, ref position, file, depth, level + 1) : null;
            if (words.Count == 0)
                continue;

            var directive = new NginxDirective(words[0].Text, [.. words.Skip(1).Select(static word => word.Text)], file, words[0].Line, block);
            CheckSemicolon(file, words);
            words.Clear();
            if (directive.Name == "include" && directive.First is { } pattern && depth < DeepestInclude && _includes++ < MostIncludes)
                directives.AddRange(Include(pattern, depth + 1));
            else
                directives.Add(directive);
        }

        if (words.Count > 0 || !isClosed)
        {
            var (what, mark) = words.Count > 0 ? ($"'{words[0].Text}' at the end has no semicolon", ";") : ("a block is not closed", "}");
            ReportSyntax($"{file}:{(words.Count > 0 ? words[0].Line : tokens.Count > 0 ? tokens[^1].Line : 1)}", what, mark);
        }

        return directives;
    }

    /// <summary>Without its semicolon, a directive swallows the next one.</summary>
    private void CheckSemicolon(string file, List<(string Text, int Line, bool IsQuoted)> words)
    {
        for (var i = 1; i < words.Count; i++)
        {
            if (words[i].Line > words[i - 1].Line && !words[i].IsQuoted && DirectiveName().IsMatch(words[i].Text))
            {
                var text = string.Join(' ', words.Take(i).Select(static word => word.Text));
                ReportSyntax($"{file}:{words[i - 1].Line}", $"'{text}' has no semicolon: {words[i].Text} in line {words[i].Line} belongs to it", $"{text};");
                return;
            }
        }
    }

    private void ReportSyntax(string where, string what, string line)
        => _report.AddProblem("semicolon-missing", where, what, "nginx does not start, and a reload keeps the old configuration", line, "tool.md#doctor");

    private IEnumerable<NginxDirective> Include(string pattern, int depth)
    {
        var path = Path.Combine(_folder, pattern);
        var known = _files.Where(pair => GlobFiles.Matches(path, pair.Key)).OrderBy(static pair => pair.Key, StringComparer.Ordinal).ToList();
        if (known.Count > 0)
            return known.SelectMany(pair => Parse(pair.Value, pair.Key, 1, depth));

        var files = FindFiles(path, pattern);
        if (files.Count > 0)
            return files.SelectMany(file => Parse(_contents.Read(file), file, 1, depth));
        if (Path.GetFileName(pattern) is "fastcgi_params" or "fastcgi.conf")
            return Parse(UsualParameters, pattern, 1, depth);
        if (!GlobFiles.IsPattern(pattern))
            _report.AddNotUnderstood($"include {pattern}: there is no such file");
        return [];
    }

    /// <summary>Relative names belong to the folder of nginx.conf.</summary>
    private static List<string> FindFiles(string path, string pattern)
    {
        foreach (var candidate in new[] { path, Path.Combine("/etc/nginx", pattern) })
        {
            var files = GlobFiles.Find(candidate);
            if (files.Count > 0)
                return files;
        }

        return [];
    }

    private static List<(string Text, int Line, bool IsQuoted)> Tokenize(string text, int line)
    {
        var tokens = new List<(string, int, bool)>();
        for (var i = 0; i < text.Length; i++)
        {
            switch (text[i])
            {
                case '\n':
                    line++;
                    break;
                case ' ' or '\t' or '\r':
                    break;
                case '#':
                    i = text.IndexOf('\n', i) is >= 0 and var end ? end - 1 : text.Length;
                    break;
                case ';' or '{' or '}':
                    tokens.Add((text[i].ToString(), line, false));
                    break;
                default:
                    var start = line;
                    var isQuoted = text[i] is '"' or '\'';
                    tokens.Add((ReadWord(text, ref i, ref line), start, isQuoted));
                    break;
            }
        }

        return tokens;
    }

    /// <summary>Reads a word; afterwards the index is at its last character.</summary>
    private static string ReadWord(string text, ref int i, ref int line)
    {
        var word = new StringBuilder();
        var quote = text[i] is '"' or '\'' ? text[i++] : '\0';
        for (; i < text.Length; i++)
        {
            var character = text[i];
            var isVariable = character == '{' && word.Length > 0 && word[^1] == '$';
            if (quote != '\0' ? character == quote : !isVariable && (character is ';' or ' ' or '\t' or '\r' or '\n' or '{'))
                break;
            if (isVariable)
            {
                // ${name}
                var end = text.IndexOf('}', i);
                end = end < 0 ? text.Length - 1 : end;
                word.Append(text, i, end - i + 1);
                i = end;
                continue;
            }

            if (character == '\n')
                line++;
            if (character == '\\' && i + 1 < text.Length && (text[i + 1] is '"' or '\'' or '\\'))
                character = text[++i];
            word.Append(character);
        }

        if (quote == '\0')
            i--;
        return word.ToString();
    }

    [GeneratedRegex("^(include|listen|server|server_name|location|root|index|return|try_files|error_page|access_log|error_log|rewrite|if|set|(ssl|fastcgi|proxy|client|auth|add|send|real_ip)_[a-z_]+)$")]
    private static partial Regex DirectiveName();

    [GeneratedRegex(@"^# configuration file (?<file>.+):\r?\n", RegexOptions.Multiline)]
    private static partial Regex FileMark();
}
