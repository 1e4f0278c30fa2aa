namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Reads the blocks and directives of a Caddyfile.</summary>
internal sealed class CaddyReader(DoctorReport report, string file) : ConfigurationReader(report, file, "/etc/caddy")
{
    private static readonly Regex s_word =
        new("""(?<!\S)\#.*|"(?<quoted>(?:\\.|[^"\\])*)"|`(?<quoted>[^`]*)`|(?<word>\S+)""");

    protected override void Parse(string text)
    {
        foreach (var (i, line) in text.Split('\n').Index())
        {
            List<ConfigurationWord> words = [.. Split(s_word, line)];
            if (words.Count == 0)
                continue;
            if (words[0].Is("}"))
            {
                Close();
                continue;
            }

            var isBlock = words[^1].Is("{");
            string[] texts = [.. words.SkipLast(isBlock ? 1 : 0).Select(static word => word.Text)];
            var directive = Add(texts.FirstOrDefault(""), [.. texts.Skip(1)], i + 1);
            if (isBlock)
                Open(directive);
            else if (directive.Is("import") && directive.First?.IndexOfAny(['.', '/', '*']) >= 0)
                Include(directive);
        }
    }
}
