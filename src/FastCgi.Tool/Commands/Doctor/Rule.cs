namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A match of a rule. What is null comes from the table.</summary>
internal readonly record struct Seen(
    string Where, string? Evidence = null, string? Line = null, string? Consequence = null);

/// <summary>A rule for the places of a web server. Its texts are in <c>rules.tsv</c>.</summary>
internal sealed class Rule<T>(string name, Func<T, IEnumerable<Seen>> match)
    where T : Place
{
    /// <summary>Creates a rule whose evidence is in the table.</summary>
    public Rule(string name, Func<T, bool> matches)
        : this(name, place => matches(place) ? [new(place.Where)] : [])
    {
    }

    /// <summary>Creates a rule whose evidence is a directive.</summary>
    public Rule(string name, Func<T, Directive?> find)
        : this(name, place => find(place) is { } found ? [new(found.Where, found.Text)] : [])
    {
    }

    public string Name => name;

    public IEnumerable<Seen> Match(T place) => match(place);
}
