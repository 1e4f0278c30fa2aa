namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A problem or a note: its place, evidence, consequence, fix, and document.</summary>
internal sealed record DoctorFinding(
    string Id, string Level, string Where, string Evidence, string Consequence, string Line, string Document);

/// <summary>The findings in a configuration or at an address.</summary>
internal sealed class DoctorReport
{
    private readonly List<DoctorFinding> _findings = [];
    private readonly List<string> _facts = [];
    private readonly List<string> _notUnderstood = [];

    /// <summary>Whether the web server may be asked for its version.</summary>
    public bool RunsPrograms { get; init; } = true;

    public int Problems => _findings.Count(static finding => finding.Level == "problem");
    public int Notes => _findings.Count - Problems;
    public bool IsEmpty => _findings.Count + _facts.Count + _notUnderstood.Count == 0;

    /// <summary>Adds a correct observation.</summary>
    public void AddFact(string text) => AddOnce(_facts, text);

    /// <summary>Adds an unchecked part of a configuration.</summary>
    public void AddNotUnderstood(string text) => AddOnce(_notUnderstood, text);

    /// <summary>Adds what a rule has found, unless the installed web server is too old or too new for it.</summary>
    public void Add(Rule rule, RuleCase one, Seen seen, Place place)
    {
        if (one.Since is not null || one.Until is not null)
        {
            var server = place.Server.Name;
            var installed = RunsPrograms ? InstalledVersion.Find(server) : null;
            if (installed < one.Since || installed >= one.Until)
                return;
            if (installed is null)
                AddFact($"the version of {server} is unknown; {rule.Id} is a mistake only "
                    + $"{(one.Since is { } since ? $"from {since} on" : $"before {one.Until}")}");
        }

        Add(rule with { Level = one.Level ?? rule.Level, Page = one.Page ?? rule.Page }, seen);
    }

    /// <summary>Adds evidence of a rule.</summary>
    public void Add(Rule rule, Seen seen)
    {
        var (effect, fix) = (seen.Effect ?? rule.Effect, seen.Fix ?? "");
        if (rule.Level == Level.Fact)
            AddFact($"{seen.Where}: {seen.Text}: {effect} ({fix.ReplaceLineEndings(" ")})");
        else
            AddOnce(_findings, new(
                rule.Id, rule.Level.ToString().ToLowerInvariant(), seen.Where, seen.Text, effect, fix, rule.Url));
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
        foreach (var finding in _findings.OrderBy(static finding => finding.Level != "problem"))
        {
            Func<string, string> color = finding.Level == "problem" ? console.Red : console.Yellow;
            console.Out.WriteLine($"\n{color(finding.Level)} {finding.Id}  {PlainText.Line(finding.Where)}");
            console.Out.WriteLine($"  found   {PlainText.Line(finding.Evidence)}");
            console.Out.WriteLine($"  effect  {PlainText.Line(finding.Consequence)}");
            console.Out.WriteLine(
                $"  fix     {PlainText.Lines(finding.Line).Replace("\n", "\n          ", StringComparison.Ordinal)}");
            console.Out.WriteLine($"  docs    {finding.Document}");
        }

        var notChecked = _notUnderstood.Count > 0 ? $", {_notUnderstood.Count} not checked" : "";
        console.Out.WriteLine($"\n{target}: {Count(Problems, "problem")}, {Count(Notes, "note")}{notChecked}");
    }

    private static string Count(int number, string what) => number == 1 ? $"1 {what}" : $"{number} {what}s";
}

internal sealed record DoctorDocument(
    string Target, int Problems, int Notes, IReadOnlyList<DoctorFinding> Findings, IReadOnlyList<string> Facts,
        IReadOnlyList<string> NotChecked);
