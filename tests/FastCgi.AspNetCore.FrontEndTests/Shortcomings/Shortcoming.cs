namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>What a web server cannot do, whatever the application does.</summary>
internal sealed record Shortcoming(FrontEndKind Kind, Ability Ability, string Reason)
{
    /// <summary>The setups of the web server that have it: all, if it does not say.</summary>
    public Func<FrontEndSetup, bool> Where { get; init; } = static _ => true;

    /// <summary>Whether a case that needs the ability cannot be run behind a setup.</summary>
    public bool Applies(FrontEndSetup setup, Ability ability) => setup.Kind == Kind && ability == Ability && Where(setup);
}
