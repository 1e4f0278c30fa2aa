namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Something that a web server cannot do, regardless of the application.</summary>
internal sealed record Shortcoming(FrontEndKind Kind, Ability Ability, string Reason)
{
    /// <summary>The affected setups of the web server; all by default.</summary>
    public Func<FrontEndSetup, bool> Where { get; init; } = static _ => true;

    /// <summary>The first version of the web server that has it.</summary>
    public string Since { get; init; } = "0.0";

    /// <summary>The first version that no longer has it.</summary>
    public string Until { get; init; } = "99.0";

    /// <summary>Whether a setup cannot run a case that needs the ability.</summary>
    public bool Applies(FrontEndSetup setup, Ability ability)
        => setup.Kind == Kind && ability == Ability && Where(setup)
            && InstalledVersions.IsBefore(Kind, Until) && !InstalledVersions.IsBefore(Kind, Since);
}
