namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Recognizes, reads, and checks the files of a web server. <c>servers.tsv</c> contains its texts.</summary>
internal sealed record WebServer(
    string Name, Func<DoctorReport, string, string, IEnumerable<Place>> Find, Action<DoctorReport, Place> Apply)
{
    private static readonly Dictionary<string, string[]> s_texts = ToolCommand.ReadTable("servers.tsv");

    private static readonly Regex s_error = new(
        "emerg|\\[ALERT\\]|[Ss]yntax error|[Ee]rror|Invalid|cannot|unknown|failed|expected");

    private readonly string[] _texts = s_texts[Name];

    public static IReadOnlyList<WebServer> All { get; } =
    [
        Create("apache", ApachePlace.Find, ApacheRules.All), Create("lighttpd", LighttpdPlace.Find, LighttpdRules.All),
        Create("haproxy", HaProxyPlace.Find, HaProxyRules.All), Create("caddy", CaddyPlace.Find, CaddyPlace.Rules),
        Create("nginx", NginxPlace.Find, NginxRules.All),
    ];

    public string[] Files => _texts[1].Split(' ');

    /// <summary>The message about a configuration without FastCGI.</summary>
    public string Without => _texts[5];

    public static WebServer Recognize(string? name, string file, string text)
    {
        if (text.Contains('\0'))
            throw CannotRun($"{file} is not a text file.");
        if (string.IsNullOrWhiteSpace(text))
            throw CannotRun($"{file} is empty.");
        return All.FirstOrDefault(server => name is null ? server.Matches(2, text) : server.Name == name)
            ?? throw CannotRun($"{file} does not look like a configuration of "
                + $"{string.Join(", ", All.Select(static known => known.Name))}. If it is one, use --server.");
    }

    /// <summary>Lets the web server check its configuration, and reports its error.</summary>
    /// <param name="isTrusted">Whether to run modules named by a file that users other than root can change.</param>
    public void Check(DoctorReport report, string file, string text, bool isTrusted)
    {
        var commands = _texts[4].Split("; ");
        var path = Path.GetFullPath(file);
        // A file that others include is checked with its main file.
        var main = Matches(3, text) ? path : Files.FirstOrDefault(usual => File.Exists(usual)
            && path.StartsWith(Path.GetDirectoryName(usual) + "/", StringComparison.Ordinal));
        if (main is null)
        {
            report.AddFact(
                $"{file}: {commands[^1].Split(' ')[0]} did not check it, because it is not a main configuration file");
            return;
        }

        if (Environment.IsPrivilegedProcess && !isTrusted && SocketFile.Read(main) is { IsRoots: false })
        {
            report.AddNotUnderstood(
                $"{commands[^1].Split(' ')[0]} did not check {main}, because it would run modules that the file names, "
                    + "as root, and others than root can change the file. If you trust it, use --trust");
            return;
        }

        foreach (var command in commands)
        {
            // The folders of packaged configurations are built into the web servers.
            var parts = Files.Contains(main) ? Regex.Replace(command, " -[pd] {folder}", "") : command;
            string[] words = [.. parts.Split(' ').Select(word
                => word.Replace("{file}", main).Replace("{folder}", Path.GetDirectoryName(main)))];
            if (SystemCommand.Run(words[0], words[1..]) is not var (code, error, output))
                continue;

            Report(report, file, string.Join(' ', words), code, $"{error}\n{output}");
            return;
        }
    }

    /// <summary>Whether a text matches the regular expression in a column of the table.</summary>
    private bool Matches(int column, string text) => Regex.IsMatch(text, _texts[column], RegexOptions.Multiline);

    private static WebServer Create<T>(
        string name, Func<DoctorReport, string, string, IEnumerable<Place>> find, Rule<T>[] rules)
        where T : Place
        => new(name, find, (report, place) => Array.ForEach(rules, rule => rule.Apply(report, (T)place)));

    private static void Report(DoctorReport report, string file, string command, int code, string output)
    {
        var lines = output.Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        // The first line other than a warning or a summary. Apache prints the place first, and the error in the next
        // line.
        var index = Math.Max(Array.FindIndex(lines, static line => s_error.IsMatch(line)), 0);
        var count = lines.ElementAtOrDefault(index)?.EndsWith(':') == true ? 2 : 1;
        var line = string.Join(' ', lines.Skip(index).Take(count).DefaultIfEmpty($"exit code {code}"));
        if (code == 0)
            report.AddFact($"{command}: no error");
        else if (line.Contains("ermission denied"))
            report.AddNotUnderstood($"{command}: {line}. Run this as root.");
        else
            report.Add("all.web-server-check", new(file, command, line));
    }
}
