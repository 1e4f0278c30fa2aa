namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The rules for HAProxy.</summary>
internal static class HaProxyRules
{
    // The default of MaxRequestsPerConnection.
    private const int MostRequests = 100;

    public static Rule<HaProxyPlace>[] All { get; } =
    [
        new("haproxy.app-unknown", FindUnknownApplication),
        new("haproxy.docroot-missing", static place => place.Application is { } app && app.Find("docroot") is null
            ? [new(app.Where, $"{app.Text} has no docroot")]
            : []),
        new("haproxy.authorization-dropped", static place => place.Application is { } app
            && app.Find("pass-header", "Authorization") is null && app.Find("set-param", "HTTP_AUTHORIZATION") is null
                ? [new(app.Where, $"{app.Text} has no 'pass-header Authorization'")]
                : []),
        new("haproxy.scheme-behind-balancer", FindTrustedBalancer),
        new("haproxy.keep-conn-missing", static place => place.Application?.Find("no", "option", "keep-conn")),
        new("haproxy.max-reqs", static place
            => place.Application?.Find("option", "max-reqs") is { Arguments: [_, var most] } line
            && int.TryParse(most, CultureInfo.InvariantCulture, out var requests) && requests > MostRequests
                ? line
                : null),
        new("haproxy.path-base.other", static place => place.PathBases.Where(static set => set.Paths.Count > 0
            && !set.Paths.All(path => (path + "/").StartsWith(set.Value + "/", StringComparison.Ordinal)))
            .Select(static set => new Seen(set.Where,
                $"PATH_BASE {set.Value} is passed for {string.Join(" and ", set.Paths)}",
                    CreatePathBase(set.Paths[0])))),
        new("haproxy.path-base.always", static place => place.PathBases
            .Where(static set => set is { IsUnconditional: true, Value.Length: > 0 })
            .Select(static set => new Seen(set.Where,
                $"PATH_BASE {set.Value} is passed with each request", CreatePathBase(set.Value)))),
        new("haproxy.read-timeout", static place
            => place.ReadTimeout is (var where, > 0 and < Place.LongestPoll and var seconds)
            ? [new(where, Invariant($"timeout server is {seconds} s"))]
            : []),
        new("haproxy.streaming-held", static place => place.Frontends
            .Where(static frontend => HaProxyPlace.Get(frontend, "option", "http-no-delay") is null)
            .Select(static frontend => new Seen(frontend.Where, $"{frontend.Text} has no 'option http-no-delay'"))),
        new("haproxy.tcp-mode", static place => place.Frontends.Append(place.Backend).SelectMany(place.FindOtherMode)),
        new("haproxy.tls-missing", static place => place.Frontends.SelectMany(static frontend => frontend.Block)
            .Where(static line => line.Is("bind") && line.First?.EndsWith(":443", StringComparison.Ordinal) == true
                && !line.Arguments.Contains("ssl"))
            .Select(static line => new Seen(line.Where, $"{line.Text}, without ssl",
                $"bind {line.First} ssl crt /etc/ssl/hello/certificate-and-key.pem"))),
        new("haproxy.chroot", static place => place.Chroot is { } chroot
            ? [new(place.Where,
                $"HAProxy runs in {chroot.First} ({chroot.Where}), "
                    + $"so {place.Target} is {chroot.First!.TrimEnd('/')}{place.Target}",
                $"server {place.Pass.First} 127.0.0.1:9000 proto fcgi")]
            : []),
    ];

    private static IEnumerable<Seen> FindUnknownApplication(HaProxyPlace place)
    {
        if (place.Application is not null)
            return [];
        return place.UseLine is { } use
            ? [new(use.Where, $"there is no 'fcgi-app {use.First}'")]
            : [new(place.Backend.Where, $"{place.Backend.Text} has no use-fcgi-app")];
    }

    private static IEnumerable<Seen> FindTrustedBalancer(HaProxyPlace place)
    {
        if (place.Application is not { } app
            || place.Frontends.Select(static frontend => frontend.Find("http-request", "set-src"))
                .FirstOrDefault(static line => line is not null) is not { } balancer)
            return [];

        // HAProxy sets HTTPS itself where it ends TLS.
        var schemes = app.Block.Where(static line
            => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS"));
        return schemes.All(static line => line.Arguments is [_, "https", "if", "{", "ssl_fc", "}"])
            ? [new(app.Where,
            $"a load balancer is trusted ({balancer.Where}), but REQUEST_SCHEME describes its connection")]
            : [];
    }

    private static string CreatePathBase(string path)
        => $"set-param PATH_BASE {path} if {{ path_beg {path}/ }} || {{ path {path} }}";
}
