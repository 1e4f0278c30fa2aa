using System.Text;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A line of HAProxy.</summary>
internal sealed record HaProxyLine(string[] Words, string File, int Number)
{
    public string Where => $"{File}:{Number}";

    /// <summary>Whether it begins with these words, in any case.</summary>
    public bool Is(params string[] words) => Words.Length >= words.Length
        && words.Zip(Words).All(static pair => pair.First.Equals(pair.Second, StringComparison.OrdinalIgnoreCase));
}

/// <summary>A section of HAProxy, with the defaults that apply to it.</summary>
internal sealed record HaProxySection(string Kind, string Name, string Where, HaProxySection? Defaults)
{
    public List<HaProxyLine> Lines { get; } = [];

    /// <summary>The line in effect: the last of the section, or of its defaults.</summary>
    public HaProxyLine? Get(params string[] words) => Lines.LastOrDefault(line => line.Is(words)) ?? Defaults?.Get(words);
}

/// <summary>Reads HAProxy's sections.</summary>
internal static class HaProxyReader
{
    private static readonly string[] s_kinds =
        ["global", "defaults", "frontend", "backend", "listen", "fcgi-app", "peers", "resolvers", "mailers", "userlist", "cache", "program",
            "http-errors", "ring", "log-forward"];

    public static List<HaProxySection> Read(string file, string text)
    {
        var sections = new List<HaProxySection>();
        HaProxySection? defaults = null;
        var lines = text.Split('\n');
        for (var i = 0; i < lines.Length; i++)
        {
            var words = Split(lines[i]);
            if (words.Length == 0)
                continue;
            if (!char.IsWhiteSpace(lines[i][0]) && s_kinds.Contains(words[0]))
            {
                var section = new HaProxySection(words[0], words.Length > 1 ? words[1] : "", $"{file}:{i + 1}",
                    words[0] is "frontend" or "backend" or "listen" ? defaults : null);
                if (words[0] == "defaults")
                    defaults = section;
                sections.Add(section);
            }
            else if (sections.Count > 0)
            {
                sections[^1].Lines.Add(new HaProxyLine(words, file, i + 1));
            }
        }

        return sections;
    }

    private static string[] Split(string line)
    {
        var words = new List<string>();
        var word = new StringBuilder();
        var quote = '\0';
        for (var i = 0; i < line.Length; i++)
        {
            var character = line[i];
            if (character == '\\' && quote != '\'' && i + 1 < line.Length)
                word.Append(line[++i]);
            else if (quote != '\0')
                _ = character == quote ? quote = '\0' : word.Append(character)[^1];
            else if (character is '"' or '\'')
                quote = character;
            else if (character == '#')
                break;
            else if (!char.IsWhiteSpace(character))
                word.Append(character);
            else
                End();
        }

        End();
        return [.. words];

        void End()
        {
            if (word.Length > 0)
                words.Add(word.ToString());
            word.Clear();
        }
    }
}
