namespace FastCgi.Tool.Commands.Doctor;

internal static class ApacheRules
{
    public static Rule<ApachePlace>[] All { get; } =
    [
        new("apache.module-missing", place => place.LacksModule()),
        new("apache.authorization-dropped.misplaced",
            place => place is { IsWhole: true, PassesAuthorization: false, MisplacedAuthorization: not null },
            place => new Seen(place.Where, place.MisplacedAuthorization!.Where)),
        new("apache.authorization-dropped.missing",
            place => place is { IsWhole: true, PassesAuthorization: false, MisplacedAuthorization: null }),
        new("apache.streaming-held.line", place => !place.IsBalancer && LacksFlushing(place)),
        new("apache.streaming-held.member", place => place.IsBalancer && LacksFlushing(place)),
        new("apache.read-timeout.set", place => place.ReadTimeout < Place.LongestPoll,
            place => place.Timeout is { } timeout ? new Seen(place.Where, timeout) : null),
        new("apache.read-timeout.default", place => place.Timeout is null),
        new("apache.keepalive-missing.line", place => !place.IsBalancer && LacksReuse(place)),
        new("apache.keepalive-missing.member", place => place.IsBalancer && LacksReuse(place)),
        new("apache.scheme-behind-balancer", place => place.IsWhole && !place.SetsHttps && !place.UsesTls,
            place => place.FindGlobal("RemoteIPHeader")),
        new("apache.scheme-constant", ApacheTrust.FindConstantScheme),
        new("apache.client-chosen.balancer", ApacheTrust.FindBalancer),
        new("apache.client-chosen.parameter", ApacheTrust.FindChosen),
        new("apache.cache-shared", ApacheReach.FindSharedCache),
        new("apache.cookies-hidden", ApacheReach.FindHiddenCookies),
        new("apache.static-files", ApacheReach.FindTakenFiles),
        new("apache.refused.method", ApacheReach.FindRefusedMethods),
        new("apache.refused.path", ApacheReach.FindRefusedPath),
        new("apache.errors-replaced", place => place.IsOn("ProxyErrorOverride")
            ? place.Find("ProxyErrorOverride").Last()
            : null),
        new("apache.path-base.other", place => FindWrongPathBases(place, ofRoot: false)),
        new("apache.path-base.root", place => FindWrongPathBases(place, ofRoot: true)),
        new("apache.path-base.missing", place => place.IsWhole && place.IsBelowRoot && !place.IsPartOfApplication
            && place.Visible.Where(line => line.Is("FallbackResource"))
                .All(fallback => fallback.First != place.Base)
            && !place.Find("SetEnv").Any(set => set.Arguments is ["PATH_BASE", _])
            && !place.Find("ProxyFCGISetEnvIf").Any()),
        new("apache.nocanon.type", place => place.IsWhole && place.IsNoCanon
            && !place.Find("ProxyFCGIBackendType").Any(type => type.Is(type.Name, "GENERIC"))),
        new("apache.nocanon.slashes", place => !place.IsNoCanon, place
            => place.FindGlobal("AllowEncodedSlashes") is { } line && line.Is(line.Name, "NoDecode") ? line : null),
        new("apache.target-slash", place
            => place is { IsProxyPass: true, HasTargetPath: false } && place.Path.EndsWith('/')),
        new("apache.exclusion-order", place => place.FindLateExclusions()),
        new("apache.error-page.refused", place => FindErrorPages(place, isRefused: true)),
        new("apache.error-page.other", place => FindErrorPages(place, isRefused: false)),
        new("apache.rewrite-unseen", place => place.IsOn("RewriteEngine"),
            place => place.Visible.FirstOrDefault(rule
                => rule.Is("RewriteRule") && rule.Arguments is [_, ['/', ..], var flags]
                    && HasFlag(flags, "PT") && !HasFlag(flags, "R"))),
        new("apache.tls-missing", place => place.IsWhole && !place.UsesTls
            && place.Host?.First?.EndsWith(":443", StringComparison.Ordinal) == true, place => place.Host),
        new("apache.duplicate-server", place => place.FindDuplicate()),
        new("apache.access-denied", place => place.FindDenial()),
        new("apache.rewrite-proxy", place => place.Pass.Is("RewriteRule")),
    ];

    public static bool HasFlag(string flags, string flag)
        => flags.Trim('[', ']').Split(',').Any(text => text.Split('=')[0].Trim() == flag);

    private static bool LacksFlushing(ApachePlace place)
        => place.IsProxyPass && place.GetOption("flushpackets") is not ("on" or "auto");

    private static bool LacksReuse(ApachePlace place) => place.IsProxyPass && place.GetOption("enablereuse") != "on";

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    private static IEnumerable<Directive> FindErrorPages(ApachePlace place, bool isRefused)
        => from page in place.Visible
           where page.Is("ErrorDocument") && page.Arguments is [_, ['/', ..]]
               && isRefused == (page.First is "401" or "403")
           let path = page.Arguments[1]
           where place.Serves(path) && !place.SetsTarget(path)
           select page;

    /// <summary>Finds values that do not begin the path of their location, which is the root or another one.</summary>
    private static IEnumerable<Seen> FindWrongPathBases(ApachePlace place, bool ofRoot)
        => from set in place.Visible
           where set.Is("SetEnv", "PATH_BASE") && set.Arguments.Length == 2
           let location = set.FindAround("Location")?.First?.TrimEnd('/')
           where location is not null && !Place.IsBelow(location, set.Arguments[1]) && ofRoot == (location.Length == 0)
           select new Seen(set.Where, set.Arguments[1].TrimEnd('/'), location!);
}
