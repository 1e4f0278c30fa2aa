namespace FastCgi.Tool.Commands.Doctor.Rules;

internal enum Level
{
    Problem,
    Note,

    /// <summary>Worth knowing, but not a finding.</summary>
    Fact,
}

/// <summary>Evidence: its place, what was found there, and what differs from the texts of the rule.</summary>
internal sealed record Seen(string Where, string Text, string? Effect = null, string? Fix = null);

/// <summary>A mistake, what it causes, and the page about it.</summary>
internal sealed record Rule(string Id, Level Level, string Effect, string Page, params RuleCase[] Cases)
{
    private const string Documents = "https://github.com/fastcgi-aspnetcore/FastCgi.AspNetCore/blob/main/docs/";

    public string Url => Documents + Page;

    /// <summary>Creates what a web server can have of a rule.</summary>
    public static RuleCase<T> On<T>(Func<T, IEnumerable<Seen>> find, string fix)
        where T : Place
        => new(find, _ => fix);

    public static RuleCase<T> On<T>(Func<T, IEnumerable<Seen>> find, Func<T, string> fix)
        where T : Place
        => new(find, fix);
}

/// <summary>What a rule looks for in the configuration of one web server, and what differs from the rule.</summary>
internal abstract record RuleCase
{
    public Level? Level { get; init; }
    public string? Effect { get; init; }
    public string? Page { get; init; }

    /// <summary>The first version of the web server that has the mistake; <see langword="null"/> for any.</summary>
    public Version? Since { get; init; }

    /// <summary>The first version that no longer has it.</summary>
    public Version? Until { get; init; }

    /// <summary>The evidence at a place, with the fix.</summary>
    public abstract IEnumerable<Seen> Find(Place place);
}

internal sealed record RuleCase<T>(Func<T, IEnumerable<Seen>> FindIn, Func<T, string> Fix) : RuleCase
    where T : Place
{
    public override IEnumerable<Seen> Find(Place place) => place is T own
        ? FindIn(own).Select(seen => seen with { Effect = seen.Effect ?? Effect, Fix = seen.Fix ?? Fix(own) })
        : [];
}
