namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A problem or a note: its place, evidence, consequence, fix, and document.</summary>
internal sealed record DoctorFinding(
    string Id, string Level, string Where, string Evidence, string Consequence, string Line, string Document)
{
    public const string Problem = "problem";
    public const string Note = "note";
    public const string Fact = "fact";
}

/// <summary>The findings in a configuration or at an address.</summary>
internal sealed class DoctorReport
{
    // Name, level, evidence, consequence, fix and document of each rule, and the version of the web server from which
    // on it is false, if any. The document is a page, or a heading of troubleshooting.md.
    private static readonly Dictionary<string, string[]> s_rules = ToolCommand.ReadTable("rules.tsv");

    private const string Documents = "https://github.com/fastcgi-aspnetcore/FastCgi.AspNetCore/blob/main/docs/";

    private static readonly Regex s_word = new(@"\{(?<word>\w+)\}");

    // The columns of a rule.
    private const int Level = 1, Evidence = 2, Consequence = 3, Line = 4, Document = 5, Until = 6;

    private readonly List<DoctorFinding> _findings = [];
    private readonly List<string> _facts = [];
    private readonly List<string> _notUnderstood = [];

    /// <summary>The names of all findings, which never change.</summary>
    public static string[] Ids { get; } =
        [.. s_rules.Keys.Select(static rule => rule.Split('.')[1]).Distinct().Order(StringComparer.Ordinal)];

    /// <summary>Whether the web server may be asked for its version.</summary>
    public bool RunsPrograms { get; init; } = true;

    public int Problems => _findings.Count(static finding => finding.Level == DoctorFinding.Problem);
    public int Notes => _findings.Count - Problems;
    public bool IsEmpty => _findings.Count + _facts.Count + _notUnderstood.Count == 0;

    /// <summary>Adds a correct observation.</summary>
    public void AddFact(string text) => AddOnce(_facts, text);

    /// <summary>Adds an unchecked part of a configuration.</summary>
    public void AddNotUnderstood(string text) => AddOnce(_notUnderstood, text);

    /// <summary>Adds a finding, unless the installed web server is too new for it.</summary>
    public void AddForVersion(string rule, Seen seen, Place place)
    {
        if (s_rules[rule].ElementAtOrDefault(Until) is { } until)
        {
            var server = place.Server.Name;
            var installed = RunsPrograms ? InstalledVersion.Find(server) : null;
            if (installed >= Version.Parse(until))
                return;

            if (installed is null)
                AddFact($"the version of {server} is unknown; from {until} on, {rule.Split('.')[1]} is no mistake");
        }

        Add(rule, seen, place);
    }

    /// <summary>Adds a finding with the texts of a rule.</summary>
    public void Add(string rule, Seen seen, Place? place = null)
    {
        string[] row = [.. s_rules[rule].Select(text => s_word.Replace(text, word => Fill(word, seen, place)))];
        var (level, evidence, consequence, line) = (row[Level], row[Evidence], row[Consequence], row[Line]);
        if (level == DoctorFinding.Fact)
        {
            AddFact($"{seen.Where}: {evidence}: {consequence} ({line})");
            return;
        }

        var document = Documents + (row[Document].StartsWith('#') ? "troubleshooting.md" : "") + row[Document];
        AddOnce(_findings, new(rule.Split('.')[1], level, seen.Where, evidence, consequence, line, document));
    }

    private static string Fill(Match match, Seen seen, Place? place)
    {
        var word = match.Groups["word"].Value;
        if (int.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out var index))
            return seen.Values.ElementAtOrDefault(index) ?? "";
        return word == "seen" ? seen.Where : place?.GetWord(word) ?? match.Value;
    }

    /// <summary>Several places may use one address.</summary>
    private static void AddOnce<T>(List<T> list, T item)
    {
        if (!list.Contains(item))
            list.Add(item);
    }

    public void Write(ToolConsole console, string target, bool isJson)
    {
        if (isJson)
        {
            console.WriteJson(new DoctorDocument(target, Problems, Notes, _findings, _facts, _notUnderstood),
                ToolJson.Default.DoctorDocument);
            return;
        }

        foreach (var fact in _facts.Concat(_notUnderstood.Select(static text => $"not checked: {text}")))
            console.Out.WriteLine(PlainText.Line(fact));
        foreach (var finding in _findings.OrderBy(static finding => finding.Level == DoctorFinding.Note))
        {
            Func<string, string> color = finding.Level == DoctorFinding.Problem ? console.Red : console.Yellow;
            console.Out.WriteLine($"\n{color(finding.Level)} {finding.Id}  {PlainText.Line(finding.Where)}");
            console.Out.WriteLine($"  seen  {PlainText.Line(finding.Evidence)}");
            console.Out.WriteLine($"  then  {PlainText.Line(finding.Consequence)}");
            console.Out.WriteLine(
                $"  add   {PlainText.Lines(finding.Line).Replace("\n", "\n        ", StringComparison.Ordinal)}");
            console.Out.WriteLine($"  see   {finding.Document}");
        }

        var notChecked = _notUnderstood.Count > 0 ? $", {_notUnderstood.Count} not checked" : "";
        console.Out.WriteLine($"\n{target}: {Count(Problems, "problem")}, {Count(Notes, "note")}{notChecked}");
    }

    private static string Count(int number, string what) => number == 1 ? $"1 {what}" : $"{number} {what}s";
}

internal sealed record DoctorDocument(
    string Target, int Problems, int Notes, IReadOnlyList<DoctorFinding> Findings, IReadOnlyList<string> Facts,
        IReadOnlyList<string> NotChecked);
