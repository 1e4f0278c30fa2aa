namespace FastCgi.AspNetCore.FunctionalTests.FrontEnds;

/// <summary>
/// What web servers cannot do. A case that needs it is not run behind them; <c>docs/front-ends</c> tells their users.
/// </summary>
internal static class Shortcomings
{
    public static IReadOnlyList<Shortcoming> All { get; } =
    [
        new(FrontEndKind.Apache, Ability.ContentLength, "x"),
        new(FrontEndKind.Apache, Ability.BufferingHeader, "x"),
        new(FrontEndKind.Apache, Ability.EarlyHeaders, "x"),
        new(FrontEndKind.Apache, Ability.NoticedClient, "x"),
        new(FrontEndKind.Lighttpd, Ability.BufferingHeader, "x"),
        new(FrontEndKind.HaProxy, Ability.NoticedClient, "x"),
        new(FrontEndKind.HaProxy, Ability.BufferingHeader, "x"),
        new(FrontEndKind.Caddy, Ability.NoticedClient, "x"),
        new(FrontEndKind.Caddy, Ability.BufferingHeader, "x"),
        new(FrontEndKind.Nginx, Ability.EarlyHeaders, "x") { Where = static setup => setup.UsesTls },
        new(FrontEndKind.Lighttpd, Ability.NoticedClient, "x"),
        new(FrontEndKind.Lighttpd, Ability.TargetThatIsNoText, "x"),
        new(FrontEndKind.Lighttpd, Ability.UploadOfUnknownLength, "x") { Where = static setup => setup.UsesTls || !setup.BuffersRequests },
        new(FrontEndKind.HaProxy, Ability.SmallPieces, "x"),
        new(FrontEndKind.HaProxy, Ability.LargeUploadOfUnknownLength, "x"),
        new(FrontEndKind.Caddy, Ability.SmallPieces, "x"),
        new(FrontEndKind.Caddy, Ability.RawTarget, "x"),
        new(FrontEndKind.Caddy, Ability.ForwardedHeaders, "x"),
        new(FrontEndKind.Caddy, Ability.LocalAddress, "x"),
        new(FrontEndKind.H2o, Ability.EarlyHeaders, "x"),
        new(FrontEndKind.H2o, Ability.CutResponse, "x"),
        new(FrontEndKind.Caddy, Ability.CutResponse, "x"),
        new(FrontEndKind.Lighttpd, Ability.CutResponse, "x") { Where = static setup => setup.BuffersResponses },
        new(FrontEndKind.H2o, Ability.NoticedClient, "x"),
        new(FrontEndKind.H2o, Ability.StreamedUpload, "x"),
    ];

    public static bool Has(FrontEndSetup setup, Ability ability) => All.Any(shortcoming => shortcoming.Applies(setup, ability));
}
