namespace FastCgi.Tool.Commands.Doctor;

internal static class HaProxyRules
{
    // The default of Limits.MaxRequestsPerConnection.
    private const int MostRequests = 100;

    public static Rule<HaProxyPlace>[] All { get; } =
    [
        new("haproxy.authorization-dropped", place => place.Application is { } app
            && (app.Find("pass-header", "Authorization") ?? app.Find("set-param", "HTTP_AUTHORIZATION")) is null,
            place => place.Application),
        new("haproxy.scheme-behind-balancer", FindTrustedBalancer),
        new("haproxy.scheme-constant", HaProxyTrust.FindConstantScheme),
        new("haproxy.client-chosen.balancer", HaProxyTrust.FindBalancer),
        new("haproxy.client-chosen.parameter", HaProxyTrust.FindChosen),
        new("haproxy.posts-repeated", HaProxyTrust.FindRetry),
        new("haproxy.cookies-hidden", place => place.Frontends.Append(place.Backend)
            .SelectMany(static section => section.Block).FirstOrDefault(static line
                => line.Is("http-response", "del-header", "Set-Cookie") && line.Arguments.Length == 2)),
        new("haproxy.keep-conn-missing", place => place.Application?.Find("no", "option", "keep-conn")),
        // haproxy#3346
        new("haproxy.max-reqs.crowded", place => place.Application?.Find("option", "mpxs-conns")),
        new("haproxy.max-reqs.many", place
            => place.Application?.Find("option", "max-reqs") is { Arguments: [_, var most] } line
            && int.TryParse(most, CultureInfo.InvariantCulture, out var requests) && requests > MostRequests
                ? line
                : null),
        new("haproxy.path-base.other", place => place.PathBases
            .Where(set => set.Paths.Count > 0 && !set.Paths.All(path => Place.IsBelow(path, set.Value)))
            .Select(set => new Seen(set.Where, set.Value, string.Join(" and ", set.Paths), set.Paths[0]))),
        new("haproxy.path-base.always", place => place.PathBases
            .Where(set => set is { IsUnconditional: true, Value.Length: > 0 })
            .Select(set => new Seen(set.Where, set.Value))),
        new("haproxy.read-timeout", place => place.ReadTimeout.Seconds is > 0 and < Place.LongestPoll,
            place => new Seen(place.ReadTimeout.Where, Invariant($"{place.ReadTimeout.Seconds}"))),
        new("haproxy.streaming-held", place => place.Frontends
            .Where(frontend => HaProxyPlace.Get(frontend, "option", "http-no-delay") is null)),
        new("haproxy.tcp-mode.set", place => place.Frontends.Append(place.Backend)
            .Select(section => HaProxyPlace.Get(section, "mode") is { First: not "http" } mode
                ? new Seen(mode.Where, section.Text, mode.Text)
                : null)),
        // Without a line, the mode is tcp; a part of a configuration does not show it.
        new("haproxy.tcp-mode.default", place => place.Frontends.Append(place.Backend)
            .Where(section => place.IsMainFile && HaProxyPlace.Get(section, "mode") is null)),
        new("haproxy.tls-missing", place => place.Frontends.SelectMany(frontend => frontend.Block)
            .Where(line => line.Is("bind") && line.First?.EndsWith(":443", StringComparison.Ordinal) == true
                && !line.Arguments.Contains("ssl"))),
        new("haproxy.chroot", place => place.Chroot is { First: { } root } chroot
            ? new Seen(place.Where, root, chroot.Where, root.TrimEnd('/') + place.Target)
            : null),
    ];

    private static Seen? FindTrustedBalancer(HaProxyPlace place)
    {
        var balancer = place.Frontends.Select(frontend => frontend.Find("http-request", "set-src"))
            .FirstOrDefault(line => line is not null);
        if (place.Application is not { } app || balancer is null)
            return null;

        // HAProxy sets HTTPS itself where it ends TLS.
        var schemes = app.Block.Where(line => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS"));
        return schemes.All(line => line.Arguments is [_, "https", "if", "{", "ssl_fc", "}"])
            ? new(app.Where, balancer.Where)
            : null;
    }
}
