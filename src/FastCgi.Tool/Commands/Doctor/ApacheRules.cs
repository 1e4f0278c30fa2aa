namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The rules for Apache.</summary>
internal static class ApacheRules
{
    public static Rule<ApachePlace>[] All { get; } =
    [
        new("apache.module-missing", static place => place.LacksModule()),
        new("apache.authorization-dropped", static place => place.IsWhole && !place.PassesAuthorization
            ? [new(place.Where, place.MisplacedAuthorization is { } line
                ? $"CGIPassAuth in {line.Where} is not allowed in <VirtualHost>: use <Location>"
                : $"no CGIPassAuth On for {place.Path}",
                ApachePlace.InLocation(place.Path, "CGIPassAuth On"))]
            : []),
        new("apache.streaming-held", static place => place.IsProxyPass
            && place.GetOption("flushpackets") is not ("on" or "auto")
                ? [new(place.Where, place.IsBalancer ? "a BalancerMember has no flushpackets=on" : null)]
                : []),
        new("apache.read-timeout", static place => place.ReadTimeout >= Place.LongestPoll
            ? []
            : [new(place.Where, place.Timeout is { } timeout ? $"the timeout is {timeout}" : "there is no timeout")]),
        new("apache.keepalive-missing", static place => place.IsProxyPass && place.GetOption("enablereuse") != "on"
            ? [new(place.Where, place.IsBalancer ? "a BalancerMember has no enablereuse=on" : null)]
            : []),
        new("apache.scheme-behind-balancer", static place => place.IsWhole && !place.SetsHttps && !place.UsesTls
            && place.FindGlobal("RemoteIPHeader") is { } balancer
                ? [new(balancer.Where)]
                : []),
        new("apache.path-base.other", static place => place.Visible.SelectMany(FindOtherPathBase)),
        new("apache.path-base.missing", static place => place.IsWhole && place.IsBelowRoot && !place.IsPartOfApplication
            && place.Visible.Where(static line => line.Is("FallbackResource"))
                .All(fallback => fallback.First != place.Base)
            && !place.Find("SetEnv").Any(static set => set.Arguments is ["PATH_BASE", _])
            && !place.Find("ProxyFCGISetEnvIf").Any()
                ? [Place.LacksPathBase(place, $"no PATH_BASE is passed for {place.Base}",
                    ApachePlace.InLocation(place.Path, $"SetEnv PATH_BASE {place.Base}"))]
                : []),
        new("apache.nocanon.type", static place => place.IsWhole && place.IsNoCanon
            && !place.Find("ProxyFCGIBackendType").Any(static type => type.Is(type.Name, "GENERIC"))
                ? [new(place.Where, Line: ApachePlace.InLocation(place.Path, "ProxyFCGIBackendType GENERIC"))]
                : []),
        new("apache.nocanon.slashes", static place => !place.IsNoCanon
            && place.FindGlobal("AllowEncodedSlashes") is { } slashes && slashes.Is(slashes.Name, "NoDecode")
                ? [new(slashes.Where,
                    $"AllowEncodedSlashes NoDecode, and the ProxyPass in line {place.Pass.Line} has no nocanon")]
                : []),
        new("apache.target-slash", static place => place.IsProxyPass && place.Path.EndsWith('/')
            && place.TargetPath.Length == 0
                ? [new(place.Where, $"{place.Target} has no trailing slash, and {place.Path} has one", place.Target
                + "/")]
                : []),
        new("apache.exclusion-order", static place => place.FindLateExclusions()
            .Select(late => new Seen(late.Where, $"{late.Text} comes after line {place.Pass.Line}"))),
        new("apache.error-page.refused", static place => FindErrorPages(place, isRefused: true)),
        new("apache.error-page.other", static place => FindErrorPages(place, isRefused: false)),
        new("apache.rewrite-unseen", static place => place.IsOn("RewriteEngine")
            ? place.Visible.FirstOrDefault(static rule
            => rule.Is("RewriteRule") && rule.Arguments is [_, ['/', ..], var flags]
                && HasFlag(flags, "PT") && !HasFlag(flags, "R"))
            : null),
        new("apache.tls-missing", static place => place.IsWhole && !place.UsesTls && place.Host is { } host
            && host.First?.EndsWith(":443", StringComparison.Ordinal) == true
                ? [new(host.Where, $"VirtualHost {host.First} has no SSLEngine on")]
                : []),
        new("apache.duplicate-server", static place => place.FindDuplicate()),
        new("apache.access-denied", static place => place.FindDenial() is { } denial
            ? [new(denial.Where, $"Require all denied applies to {place.Path}")]
            : []),
        new("apache.rewrite-proxy", static place => place.Pass.Is("RewriteRule")),
    ];

    public static bool HasFlag(string flags, string flag)
        => flags.Trim('[', ']').Split(',').Any(text => text.Split('=')[0].Trim() == flag);

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    private static IEnumerable<Seen> FindErrorPages(ApachePlace place, bool isRefused)
        => from page in place.Visible
           where page.Is("ErrorDocument") && page.Arguments is [_, ['/', ..]] && isRefused == IsRefusal(page.First!)
           let path = page.Arguments[1]
           where place.Serves(path) && !place.SetsTarget(path)
           let line = $"ProxyFCGISetEnvIf \"true\" REQUEST_URI \"{path}\""
           select new Seen(page.Where, $"the application serves '{page.Text}'", ApachePlace.InLocation(path, line));

    private static bool IsRefusal(string code) => code is "401" or "403";

    private static IEnumerable<Seen> FindOtherPathBase(Directive set)
    {
        if (!set.Is("SetEnv", "PATH_BASE") || set.Arguments is not [_, var text]
            || set.FindAround("Location")?.First?.TrimEnd('/') is not { } location)
            return [];

        var value = text.TrimEnd('/');
        if ((location + "/").StartsWith(value + "/", StringComparison.Ordinal))
            return [];
        return location.Length > 0
            ? [new(set.Where, $"<Location {location}> passes PATH_BASE {value}", $"SetEnv PATH_BASE {location}")]
            : [new(set.Where, $"<Location /> passes PATH_BASE {value}",
                ApachePlace.InLocation(value, $"SetEnv PATH_BASE {value}"))];
    }
}
