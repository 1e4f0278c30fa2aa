namespace FastCgi.Tool.Commands.Doctor;

internal static class HaProxyRules
{
    // With more, HAProxy before 2.9.8 returns 500 under load (haproxy#2568).
    private const int MostRequests = 30;

    public static Rule<HaProxyPlace>[] All { get; } =
    [
        new("haproxy.app-unknown.section", static place => place.Application is null ? place.UseLine : null),
        new("haproxy.app-unknown.line", static place => place.UseLine is null ? place.Backend : null),
        new("haproxy.docroot-missing", static place => place.Application is { } app && app.Find("docroot") is null
            ? app
            : null),
        new("haproxy.authorization-dropped", static place => place.Application is { } app
            && app.Find("pass-header", "Authorization") is null && app.Find("set-param", "HTTP_AUTHORIZATION") is null
                ? app
                : null),
        new("haproxy.scheme-behind-balancer", FindTrustedBalancer),
        new("haproxy.keep-conn-missing", static place => place.Application?.Find("no", "option", "keep-conn")),
        new("haproxy.max-reqs", static place
            => place.Application?.Find("option", "max-reqs") is { Arguments: [_, var most] } line
            && int.TryParse(most, CultureInfo.InvariantCulture, out var requests) && requests > MostRequests
                ? line
                : null),
        new("haproxy.path-base.other", static place => place.PathBases
            .Where(static set => set.Paths.Count > 0 && !set.Paths.All(path => Place.IsBelow(path, set.Value)))
            .Select(static set => new Seen(set.Where, set.Value, string.Join(" and ", set.Paths), set.Paths[0]))),
        new("haproxy.path-base.always", static place => place.PathBases
            .Where(static set => set is { IsUnconditional: true, Value.Length: > 0 })
            .Select(static set => new Seen(set.Where, set.Value))),
        new("haproxy.read-timeout", static place
            => place.ReadTimeout is (var where, > 0 and < Place.LongestPoll and var seconds)
                ? new Seen(where, Invariant($"{seconds}"))
                : null),
        new("haproxy.streaming-held", static place => place.Frontends
            .Where(static frontend => HaProxyPlace.Get(frontend, "option", "http-no-delay") is null)),
        new("haproxy.tcp-mode.set", static place => place.Frontends.Append(place.Backend)
            .Select(static section => HaProxyPlace.Get(section, "mode") is { First: not "http" } mode
                ? new Seen(mode.Where, section.Text, mode.Text)
                : null)),
        // Without a line, the mode is tcp; a part of a configuration does not show it.
        new("haproxy.tcp-mode.default", static place => place.IsMainFile
            ? place.Frontends.Append(place.Backend)
                .Where(static section => HaProxyPlace.Get(section, "mode") is null)
            : []),
        new("haproxy.tls-missing", static place => place.Frontends.SelectMany(static frontend => frontend.Block)
            .Where(static line => line.Is("bind") && line.First?.EndsWith(":443", StringComparison.Ordinal) == true
                && !line.Arguments.Contains("ssl"))),
        new("haproxy.chroot", static place => place.Chroot is { } chroot
            ? new Seen(place.Where, chroot.First!, chroot.Where, chroot.First!.TrimEnd('/') + place.Target)
            : null),
    ];

    private static Seen? FindTrustedBalancer(HaProxyPlace place)
    {
        if (place.Application is not { } app
            || place.Frontends.Select(static frontend => frontend.Find("http-request", "set-src"))
                .FirstOrDefault(static line => line is not null) is not { } balancer)
            return null;

        // HAProxy sets HTTPS itself where it ends TLS.
        var schemes = app.Block.Where(static line
            => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS"));
        return schemes.All(static line => line.Arguments is [_, "https", "if", "{", "ssl_fc", "}"])
            ? new(app.Where, balancer.Where)
            : null;
    }
}
