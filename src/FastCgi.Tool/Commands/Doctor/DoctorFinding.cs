using FastCgi.Tool.Terminal;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A problem or a note.</summary>
/// <param name="Id">One of <see cref="DoctorReport.Ids"/>.</param>
/// <param name="Level"><see cref="Problem"/> or <see cref="Note"/>.</param>
/// <param name="Where">File and line, or the address.</param>
/// <param name="Evidence">What was seen.</param>
/// <param name="Consequence">What happens because of it.</param>
/// <param name="Line">What to add.</param>
/// <param name="Document">Where to read more.</param>
internal sealed record DoctorFinding(string Id, string Level, string Where, string Evidence, string Consequence, string Line, string Document)
{
    public const string Problem = "problem";
    public const string Note = "note";

    /// <summary>Correct, but good to know. It is not counted.</summary>
    public const string Fact = "fact";
}

/// <summary>A match of a rule.</summary>
/// <param name="Where">File and line.</param>
/// <param name="Evidence">What was seen.</param>
/// <param name="Line">What to add, if it depends on the match.</param>
/// <param name="Consequence">What happens, if it depends on the match.</param>
internal readonly record struct Seen(string Where, string Evidence, string? Line = null, string? Consequence = null);

/// <summary>A row of a table of rules.</summary>
/// <param name="Id">One of <see cref="DoctorReport.Ids"/>.</param>
/// <param name="Level">The level of its findings.</param>
/// <param name="Match">Finds the matches at a place of a configuration.</param>
/// <param name="Consequence">What happens.</param>
/// <param name="Line">What to add.</param>
/// <param name="Document">Where to read more: a page, or a heading of troubleshooting.md.</param>
internal sealed record Rule<T>(string Id, string Level, Func<T, IEnumerable<Seen>> Match, string Consequence, string Line, string Document);

/// <summary>What was checked, and what was found.</summary>
internal sealed class DoctorReport
{
    private readonly List<DoctorFinding> _findings = [];
    private readonly List<string> _facts = [];
    private readonly List<string> _notUnderstood = [];

    /// <summary>The names of all rules. They do not change.</summary>
    public static string[] Ids { get; } =
    [
        "access-denied", "app-unknown", "authorization-dropped", "backlog-cut", "backlog-full", "bad-answer", "body-dropped", "body-size", "cache-cookies",
        "check-local", "chroot", "descriptors", "docroot-missing", "duplicate-server", "ephemeral-keys", "error-status", "errors-replaced", "exclusion-order",
        "head-buffer", "host-missing", "host-port", "http-to-fastcgi", "keep-conn-missing", "keepalive-missing", "keys-not-shared", "length-missing",
        "module-missing", "no-answer", "no-socket", "nobody-listens", "nocanon", "not-a-socket", "only-root", "parameter-missing", "params-missing",
            "path-base",
        "permission", "php-fpm", "proxy-directive", "read-timeout", "rewrite-proxy", "scheme-behind-balancer", "scheme-missing", "semicolon-missing",
            "speaks-http",
        "speaks-tls", "streaming-held", "target-missing", "target-rewritten", "target-slash", "tcp-mode", "timeouts-differ", "tls-missing", "try-files",
        "upload-held", "user-unverified", "web-server-check",
    ];

    public IReadOnlyList<DoctorFinding> Findings => _findings;

    /// <summary>What was seen and is correct.</summary>
    public IReadOnlyList<string> Facts => _facts;

    /// <summary>Parts of a configuration that were not checked.</summary>
    public IReadOnlyList<string> NotUnderstood => _notUnderstood;

    public int Problems => _findings.Count(static finding => finding.Level == DoctorFinding.Problem);

    public int Notes => _findings.Count - Problems;

    public void AddFact(string text) => AddOnce(_facts, text);

    public void AddNotUnderstood(string text) => AddOnce(_notUnderstood, text);

    public void AddProblem(string id, string where, string evidence, string consequence, string line, string document)
        => Add(new DoctorFinding(id, DoctorFinding.Problem, where, evidence, consequence, line, document));

    public void AddNote(string id, string where, string evidence, string consequence, string line, string document)
        => Add(new DoctorFinding(id, DoctorFinding.Note, where, evidence, consequence, line, document));

    /// <summary>Applies a table of rules to a place of a configuration.</summary>
    public void Apply<T>(IEnumerable<Rule<T>> rules, T place)
    {
        foreach (var rule in rules)
        {
            foreach (var seen in rule.Match(place))
                Add(new DoctorFinding(rule.Id, rule.Level, seen.Where, seen.Evidence, seen.Consequence ?? rule.Consequence, seen.Line ?? rule.Line,
                    rule.Document));
        }
    }

    private void Add(DoctorFinding finding)
    {
        if (!Ids.Contains(finding.Id))
            throw new ArgumentException($"There is no rule {finding.Id}.", nameof(finding));
        if (finding.Level == DoctorFinding.Fact)
        {
            AddFact($"{finding.Where}: {finding.Evidence}: {finding.Consequence} ({finding.Line})");
            return;
        }

        // Several places may use one address.
        AddOnce(_findings, finding with { Document = "docs/" + (finding.Document.StartsWith('#') ? "troubleshooting.md" : "") + finding.Document });
    }

    private static void AddOnce<T>(List<T> list, T item)
    {
        if (!list.Contains(item))
            list.Add(item);
    }

    public void Write(ToolConsole console, string target)
    {
        foreach (var fact in _facts)
            console.Out.WriteLine(PlainText.Line(fact));
        foreach (var text in _notUnderstood)
            console.Out.WriteLine(PlainText.Line($"not checked: {text}"));
        foreach (var finding in _findings.OrderBy(static finding => finding.Level == DoctorFinding.Note))
        {
            var level = finding.Level == DoctorFinding.Problem ? console.Red(finding.Level) : console.Yellow(finding.Level);
            console.Out.WriteLine();
            console.Out.WriteLine($"{level} {finding.Id}  {PlainText.Line(finding.Where)}");
            console.Out.WriteLine($"  seen  {PlainText.Line(finding.Evidence)}");
            console.Out.WriteLine($"  then  {PlainText.Line(finding.Consequence)}");
            console.Out.WriteLine($"  add   {PlainText.Lines(finding.Line).Replace("\n", "\n        ", StringComparison.Ordinal)}");
            console.Out.WriteLine($"  see   {finding.Document}");
        }

        var notChecked = _notUnderstood.Count > 0 ? $", {_notUnderstood.Count} not checked" : "";
        console.Out.WriteLine();
        console.Out.WriteLine($"{target}: {Count(Problems, "problem")}, {Count(Notes, "note")}{notChecked}");
    }

    private static string Count(int number, string what) => number == 1 ? $"1 {what}" : $"{number} {what}s";
}

/// <summary>What <c>doctor --json</c> writes.</summary>
internal sealed record DoctorDocument(
    string Target, int Problems, int Notes, IReadOnlyList<DoctorFinding> Findings, IReadOnlyList<string> Facts, IReadOnlyList<string> NotChecked);
