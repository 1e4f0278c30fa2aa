namespace FastCgi.Tool.Commands.Doctor;

internal static class ApacheRules
{
    public static Rule<ApachePlace>[] All { get; } =
    [
        new("apache.module-missing", static place => place.LacksModule()),
        new("apache.authorization-dropped.misplaced", static place => place is
            { IsWhole: true, PassesAuthorization: false, MisplacedAuthorization: { } line }
                ? new Seen(place.Where, line.Where)
                : null),
        new("apache.authorization-dropped.missing", static place => place is
            { IsWhole: true, PassesAuthorization: false, MisplacedAuthorization: null }),
        new("apache.streaming-held.line", static place => !place.IsBalancer && LacksFlushing(place)),
        new("apache.streaming-held.member", static place => place.IsBalancer && LacksFlushing(place)),
        new("apache.read-timeout.set", static place
            => place.ReadTimeout < Place.LongestPoll && place.Timeout is { } timeout
                ? new Seen(place.Where, timeout)
                : null),
        new("apache.read-timeout.default", static place => place.Timeout is null),
        new("apache.keepalive-missing.line", static place => !place.IsBalancer && LacksReuse(place)),
        new("apache.keepalive-missing.member", static place => place.IsBalancer && LacksReuse(place)),
        new("apache.scheme-behind-balancer", static place => place.IsWhole && !place.SetsHttps && !place.UsesTls
            ? place.FindGlobal("RemoteIPHeader")
            : null),
        new("apache.path-base.other", static place => place.Visible.Select(FindOtherPathBase)),
        new("apache.path-base.root", static place => place.Visible.Select(FindPathBaseOfRoot)),
        new("apache.path-base.missing", static place => place.IsWhole && place.IsBelowRoot && !place.IsPartOfApplication
            && place.Visible.Where(static line => line.Is("FallbackResource"))
                .All(fallback => fallback.First != place.Base)
            && !place.Find("SetEnv").Any(static set => set.Arguments is ["PATH_BASE", _])
            && !place.Find("ProxyFCGISetEnvIf").Any()),
        new("apache.nocanon.type", static place => place.IsWhole && place.IsNoCanon
            && !place.Find("ProxyFCGIBackendType").Any(static type => type.Is(type.Name, "GENERIC"))),
        new("apache.nocanon.slashes", static place => !place.IsNoCanon
            && place.FindGlobal("AllowEncodedSlashes") is { } slashes && slashes.Is(slashes.Name, "NoDecode")
                ? slashes
                : null),
        new("apache.target-slash", static place => place.IsProxyPass && place.Path.EndsWith('/')
            && place.TargetPath.Length == 0),
        new("apache.exclusion-order", static place => place.FindLateExclusions()),
        new("apache.error-page.refused", static place => FindErrorPages(place, isRefused: true)),
        new("apache.error-page.other", static place => FindErrorPages(place, isRefused: false)),
        new("apache.rewrite-unseen", static place => place.IsOn("RewriteEngine")
            ? place.Visible.FirstOrDefault(static rule
                => rule.Is("RewriteRule") && rule.Arguments is [_, ['/', ..], var flags]
                    && HasFlag(flags, "PT") && !HasFlag(flags, "R"))
            : null),
        new("apache.tls-missing", static place => place.IsWhole && !place.UsesTls
            && place.Host?.First?.EndsWith(":443", StringComparison.Ordinal) == true ? place.Host : null),
        new("apache.duplicate-server", static place => place.FindDuplicate()),
        new("apache.access-denied", static place => place.FindDenial()),
        new("apache.rewrite-proxy", static place => place.Pass.Is("RewriteRule")),
    ];

    public static bool HasFlag(string flags, string flag)
        => flags.Trim('[', ']').Split(',').Any(text => text.Split('=')[0].Trim() == flag);

    private static bool LacksFlushing(ApachePlace place)
        => place.IsProxyPass && place.GetOption("flushpackets") is not ("on" or "auto");

    private static bool LacksReuse(ApachePlace place) => place.IsProxyPass && place.GetOption("enablereuse") != "on";

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    private static IEnumerable<Directive> FindErrorPages(ApachePlace place, bool isRefused)
        => from page in place.Visible
           where page.Is("ErrorDocument") && page.Arguments is [_, ['/', ..]] && isRefused == IsRefusal(page.First!)
           let path = page.Arguments[1]
           where place.Serves(path) && !place.SetsTarget(path)
           select page;

    private static bool IsRefusal(string code) => code is "401" or "403";

    private static Seen? FindOtherPathBase(Directive set)
        => FindWrongPathBase(set) is var (location, value) && location.Length > 0
            ? new(set.Where, value, location)
            : null;

    private static Seen? FindPathBaseOfRoot(Directive set)
        => FindWrongPathBase(set) is ("", var value) ? new(set.Where, value) : null;

    /// <summary>Finds a value that does not begin the path of its location.</summary>
    private static (string Location, string Value)? FindWrongPathBase(Directive set)
        => set.Is("SetEnv", "PATH_BASE") && set.Arguments is [_, var text]
            && set.FindAround("Location")?.First?.TrimEnd('/') is { } location && !Place.IsBelow(location, text)
                ? (location, text.TrimEnd('/'))
                : null;
}
