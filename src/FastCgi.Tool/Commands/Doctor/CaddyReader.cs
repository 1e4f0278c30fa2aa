namespace FastCgi.Tool.Commands.Doctor;

internal sealed class CaddyReader(DoctorReport report, string file) : ConfigurationReader(report, file, "/etc/caddy")
{
    private static readonly Regex s_word =
        new("""(?<!\S)\#.*|"(?<quoted>(?:\\.|[^"\\])*)"|`(?<quoted>[^`]*)`|(?<word>\S+)""");

    // {$NAME:usual}
    private static readonly Regex s_variable = new(@"\{\$\w+:(?<usual>[^}]*)\}");

    // {args[0]}, or {args.0} in older versions.
    private static readonly Regex s_argument = new(@"\{args(\[|\.)(?<index>\d)\]?\}");

    private static readonly Regex s_address = new(@"^(\S*[.:]\S*|localhost)(,? \S+)*(?<!,)$");

    // Snippets may import others.
    private const int MostCopies = 100_000;

    private int _copies;

    protected override void Parse(string text)
    {
        foreach (var (line, number) in SplitLines(text))
            ReadLine([.. Split(s_word, s_variable.Replace(line, "${usual}"))], number);
    }

    private void ReadLine(List<ConfigurationWord> words, int number)
    {
        if (words.Count == 0)
            return;
        if (words[0].Is("}"))
        {
            Close();
            return;
        }

        var isBlock = words[^1].Is("{");
        string[] texts = [.. words.SkipLast(isBlock ? 1 : 0).Select(static word => word.Text)];
        var directive = Add(texts.FirstOrDefault(""), [.. texts.Skip(1)], number);
        if (directive.Is("import"))
            Import(directive);
        // A single site needs no braces.
        if (isBlock || (Current == Root && s_address.IsMatch(directive.Text)
            && Root.Block.TrueForAll(other => other == directive || other.Name is "" or ['(' or '&', ..])))
            Open(directive);
    }

    private void Import(Directive import)
    {
        if (Root.Find($"({import.First})") is not { } snippet)
            Include(import);
        else if (import.Around.Contains(snippet))
            Skip(import, $"a snippet cannot import itself: {import.Text}");
        else
            Copy(snippet, Current, import.Arguments[1..]);
    }

    private void Copy(Directive from, Directive to, string[] arguments)
    {
        foreach (var inner in from.Block.ToList().TakeWhile(_ => _copies++ < MostCopies))
        {
            string[] words = [.. inner.Arguments.Select(word => s_argument.Replace(word, match
                => arguments.ElementAtOrDefault(match.Groups["index"].Value[0] - '0') ?? match.Value))];
            var copy = new Directive(inner.Name, words, inner.File, inner.Line, to);
            to.Block.Add(copy);
            Copy(inner, copy, arguments);
        }
    }
}
