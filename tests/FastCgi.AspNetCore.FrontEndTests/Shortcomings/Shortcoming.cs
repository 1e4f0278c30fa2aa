namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>Something that a web server cannot do, regardless of the application.</summary>
internal sealed record Shortcoming(FrontEndKind Kind, Ability Ability, string Reason)
{
    /// <summary>The affected setups of the web server; all by default.</summary>
    public Func<FrontEndSetup, bool> Where { get; init; } = static _ => true;

    /// <summary>Whether a setup cannot run a case that needs the ability.</summary>
    public bool Applies(FrontEndSetup setup, Ability ability)
        => setup.Kind == Kind && ability == Ability && Where(setup);
}
