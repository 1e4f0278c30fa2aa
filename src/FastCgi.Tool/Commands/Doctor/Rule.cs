namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A match of a rule, with the values of <c>{0}</c> and so on in its texts.</summary>
internal sealed record Seen(string Where, params string[] Values);

/// <summary>A rule for the places of a web server. All its texts are in <c>rules.tsv</c>.</summary>
/// <param name="find">Returns matches, lines, whether the place matches, or <see langword="null"/>.</param>
internal sealed class Rule<T>(string name, Func<T, bool> when, Func<T, object?> find)
    where T : Place
{
    public Rule(string name, Func<T, object?> find)
        : this(name, static _ => true, find)
    {
    }

    public void Apply(DoctorReport report, T place)
    {
        foreach (var seen in Match(place))
            report.AddForVersion(name, seen, place);
    }

    private IEnumerable<Seen> Match(T place) => (when(place) ? find(place) : null) switch
    {
        true => [new Seen(place.Where)],
        Seen seen => [seen],
        Directive line => [ToSeen(line)],
        IEnumerable<Seen?> seen => seen.OfType<Seen>(),
        IEnumerable<Directive> lines => lines.Select(ToSeen),
        _ => [],
    };

    /// <summary>Creates a match whose values are the directive and its arguments.</summary>
    private static Seen ToSeen(Directive line) => new(line.Where, [line.Text, .. line.Arguments]);
}
