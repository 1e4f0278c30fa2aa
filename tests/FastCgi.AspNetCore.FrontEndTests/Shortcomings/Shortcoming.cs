namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Something that a web server cannot do, regardless of the application.</summary>
internal sealed record Shortcoming(FrontEndKind Kind, Ability Ability, IReadOnlyList<string> Conditions)
{
    /// <summary>Whether a setup cannot run a case that needs the ability.</summary>
    public bool Applies(FrontEndSetup setup, Ability ability)
        => setup.Kind == Kind && ability == Ability && Conditions.All(condition => Holds(condition, setup));

    private bool Holds(string condition, FrontEndSetup setup) => condition.Split(' ') switch
    {
        ["since", var version] => !InstalledVersions.IsBefore(Kind, version),
        ["before", var version] => InstalledVersions.IsBefore(Kind, version),
        ["over", var protocol] => setup.UsesTls == (protocol == "HTTP/2"),
        ["uploads", "are", "streamed"] => !setup.BuffersRequests,
        _ => throw new InvalidOperationException($"'{condition}' is no condition."),
    };
}
