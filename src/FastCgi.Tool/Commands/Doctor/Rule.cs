namespace FastCgi.Tool.Commands.Doctor;

/// <summary>
/// A match of a rule. In the texts of <c>rules.tsv</c>, <c>{0}</c> is the first value, and <c>{pass}</c> is a word of
/// the place.
/// </summary>
internal sealed record Seen(string Where, params string[] Values)
{
    /// <summary>The values are the directive, and its arguments.</summary>
    public static implicit operator Seen?(Directive? line)
        => line is null ? null : new Seen(line.Where, [line.Text, .. line.Arguments]);
}

/// <summary>A rule for the places of a web server. All its texts are in <c>rules.tsv</c>.</summary>
internal sealed class Rule<T>(string name, Func<T, IEnumerable<Seen?>> match)
    where T : Place
{
    public Rule(string name, Func<T, bool> matches)
        : this(name, place => matches(place) ? [new(place.Where)] : [])
    {
    }

    public Rule(string name, Func<T, Seen?> find)
        : this(name, place => [find(place)])
    {
    }

    public Rule(string name, Func<T, IEnumerable<Directive>> find)
        : this(name, place => find(place).Select(static line => (Seen?)line))
    {
    }

    public string Name => name;

    public IEnumerable<Seen> Match(T place) => match(place).OfType<Seen>();
}
