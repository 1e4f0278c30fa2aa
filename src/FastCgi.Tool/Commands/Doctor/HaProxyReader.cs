namespace FastCgi.Tool.Commands.Doctor;

internal sealed class HaProxyReader(DoctorReport report, string file) : ConfigurationReader(report, file)
{
    private static readonly Regex s_word = new("""
        \#.*|(?<word>(?:\\.|"(?:\\.|[^"\\])*"?|'[^']*'?|[^\s"'\\#])+)
        """);
    private static readonly Regex s_quotes = new("""\\([\s#\\"'])|["']""");

    private static readonly string[] s_kinds =
        ["global", "defaults", "frontend", "backend", "listen", "fcgi-app", "peers", "resolvers", "mailers",
        "userlist", "cache", "program", "http-errors", "ring", "log-forward"];

    protected override void Parse(string text)
    {
        var defaults = Root;
        foreach (var (i, line) in text.Split('\n').Index())
        {
            string[] words = [.. Split(s_word, line).Select(static word => s_quotes.Replace(word.Text, "$1"))];
            if (words.Length == 0)
                continue;
            if (!s_kinds.Contains(words[0]))
            {
                if (Current != Root)
                    Add(words[0], words[1..], i + 1);
                continue;
            }

            // Defaults apply to the sections that follow them.
            var parent = words[0] is "frontend" or "backend" or "listen" ? defaults : Root;
            if (words is [_, _, "from", var name])
                parent = Root.Find("defaults", name) ?? parent;
            Current = new Directive(words[0], words[1..], File, i + 1, parent);
            Root.Block.Add(Current);
            if (words[0] == "defaults")
                defaults = Current;
        }

        Current = Root;
    }
}
