namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Something that is wrong, or may be.</summary>
/// <param name="Id">A name that stays.</param>
/// <param name="Level"><see cref="Problem"/> or <see cref="Note"/>.</param>
/// <param name="Where">File and line, or the address.</param>
/// <param name="Evidence">What was seen.</param>
/// <param name="Consequence">What comes of it.</param>
/// <param name="Line">What to add, as it stands.</param>
/// <param name="Document">Where it is told.</param>
internal sealed record DoctorFinding(string Id, string Level, string Where, string Evidence, string Consequence, string Line, string Document)
{
    public const string Problem = "problem";
    public const string Note = "note";
}

/// <summary>What was looked at, and what was found.</summary>
internal sealed class DoctorReport
{
    private readonly List<DoctorFinding> _findings = [];
    private readonly List<string> _facts = [];

    public IReadOnlyList<DoctorFinding> Findings => _findings;

    /// <summary>What was seen and is as it should be.</summary>
    public IReadOnlyList<string> Facts => _facts;

    public void AddFact(string text)
    {
        if (!_facts.Contains(text, StringComparer.Ordinal))
            _facts.Add(text);
    }

    public void AddProblem(string id, string where, string evidence, string consequence, string line, string document)
        => Add(new DoctorFinding(id, DoctorFinding.Problem, where, evidence, consequence, line, "docs/" + document));

    public void AddNote(string id, string where, string evidence, string consequence, string line, string document)
        => Add(new DoctorFinding(id, DoctorFinding.Note, where, evidence, consequence, line, "docs/" + document));

    private void Add(DoctorFinding finding)
    {
        // Several places may pass to one socket.
        if (!_findings.Contains(finding))
            _findings.Add(finding);
    }
}

/// <summary>What <c>doctor --json</c> writes.</summary>
internal sealed record DoctorDocument(string Target, int Problems, int Notes, IReadOnlyList<DoctorFinding> Findings, IReadOnlyList<string> Facts);
