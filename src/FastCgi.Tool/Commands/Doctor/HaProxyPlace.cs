namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A server of HAProxy's backends.</summary>
internal sealed class HaProxyPlace(Directive server, Directive root) : Place(server)
{
    // HAProxy reserves a part of each buffer for its own changes.
    private const int UsualBuffer = 16_384;
    private const int RewriteReserve = 1_024;

    private static readonly Rule<HaProxyPlace>[] s_rules =
    [
        new("haproxy.app-unknown", static place => place.Application is not null ? [] : [place.UseLine is { } use
            ? new(use.Where, $"there is no 'fcgi-app {use.First}'") : new(place.Backend.Where, $"{place.Backend.Text} has no use-fcgi-app")]),
        new("haproxy.docroot-missing", static place => place.Application is { } app && app.Find("docroot") is null
            ? [new(app.Where, $"{app.Text} has no docroot")] : []),
        new("haproxy.authorization-dropped", static place => place.Application is { } app && app.Find("pass-header", "Authorization") is null
            ? [new(app.Where, $"{app.Text} has no 'pass-header Authorization'")] : []),
        new("haproxy.scheme-behind-balancer", FindTrustedBalancer),
        new("haproxy.keep-conn-missing", static place => If(place.Application?.Find("no", "option", "keep-conn"))),
        new("haproxy.path-base.other", static place => place.PathBases.Where(static set => set.Paths.Count > 0
            && !set.Paths.All(path => (path + "/").StartsWith(set.Value + "/", StringComparison.Ordinal)))
            .Select(static set => new Seen(set.Where, $"PATH_BASE {set.Value} is passed for {string.Join(" and ", set.Paths)}", CreatePathBase(set.Paths[0])))),
        new("haproxy.path-base.always", static place => place.PathBases.Where(static set => set is { IsUnconditional: true, Value.Length: > 0 })
            .Select(static set => new Seen(set.Where, $"PATH_BASE {set.Value} is passed with each request", CreatePathBase(set.Value)))),
        new("haproxy.read-timeout", static place => place.ReadTimeout is (var where, > 0 and < LongestPoll and var seconds)
            ? [new(where, Invariant($"timeout server is {seconds} s"))] : []),
        new("haproxy.streaming-held", static place => place.Frontends.Where(static frontend => Get(frontend, "option", "http-no-delay") is null)
            .Select(static frontend => new Seen(frontend.Where, $"{frontend.Text} has no 'option http-no-delay'"))),
        new("haproxy.tcp-mode", static place => place.Frontends.Append(place.Backend).SelectMany(place.FindOtherMode)),
        new("haproxy.tls-missing", static place => place.Frontends.SelectMany(static frontend => frontend.Block)
            .Where(static line => line.Is("bind") && line.First?.EndsWith(":443", StringComparison.Ordinal) == true && !line.Arguments.Contains("ssl"))
            .Select(static line => new Seen(line.Where, $"{line.Text}, without ssl", $"bind {line.First} ssl crt /etc/ssl/hello/certificate-and-key.pem"))),
        new("haproxy.chroot", static place => place.Chroot is { } chroot
            ? [new(place.Where, $"HAProxy runs in {chroot.First} ({chroot.Where}), so {place.Target} is {chroot.First!.TrimEnd('/')}{place.Target}",
                $"server {place.Pass.First} 127.0.0.1:9000 proto fcgi")] : []),
    ];

    public override bool IsFastCgi => $"{Pass.Text} ".Contains(" proto fcgi ", StringComparison.Ordinal);

    public override string Description => $"{Backend.Text} to {Target}";

    public override string Balancer => Pass.Arguments.Contains("backup") ? Where : Backend.Where;

    public override string? User => Global("user")?.First;

    public override HeadBuffer HeadBuffer => new("HAProxy", (int.TryParse(Global("tune.bufsize")?.First, CultureInfo.InvariantCulture, out var size)
        ? size : UsualBuffer) - RewriteReserve, "HAProxy returns 502", "tune.bufsize 32768");

    public override IEnumerable<string> Targets => Chroot is not null ? []
        : [Target.Replace("unix@", "unix:", StringComparison.Ordinal).Replace("ipv4@", "", StringComparison.Ordinal)];

    /// <summary>HAProxy counts milliseconds if there is no unit.</summary>
    private (string, double) ReadTimeout => Get(Backend, "timeout", "server") is not { } line ? (Where, 0)
        : (line.Where, NginxPlace.Measure(line.Arguments.ElementAtOrDefault(1), 0, static unit
            => unit switch { "us" => 1e-6, "s" => 1, "m" => 60, "h" => 3600, "d" => 86400, _ => 1e-3 }));

    public override (string, string?, string) HttpMistake => ($"{Target} has no 'proto fcgi', but the application there speaks FastCGI",
        "the application returns 400, 'This port speaks FastCGI, not HTTP.', or HAProxy returns 502",
        $"use-fcgi-app hello\nserver {Pass.First} {Target} proto fcgi");

    private Directive Backend => Pass.Parent!;
    private string Target => Pass.Arguments[1];

    private Directive? UseLine => Get(Backend, "use-fcgi-app") is { First: not null } line ? line : null;

    private Directive? Application => UseLine is { } use ? root.Find("fcgi-app", use.First!) : null;

    /// <summary>The line that moves HAProxy to another root folder, if the socket is below the usual one.</summary>
    private Directive? Chroot => Target is ['/', ..] && Global("chroot") is { First: not null } line ? line : null;

    /// <summary>The sections from which requests come to the backend.</summary>
    private IEnumerable<Directive> Frontends => Backend.Is("listen") ? [Backend]
        : root.Block.Where(section => (section.Is("frontend") || section.Is("listen"))
            && section.Block.Any(line => (line.Is("default_backend") || line.Is("use_backend")) && line.First == Backend.First));

    /// <summary>The values of PATH_BASE, with the paths of their conditions.</summary>
    private IEnumerable<(string Where, string Value, List<string> Paths, bool IsUnconditional)> PathBases =>
        from line in Application?.Block ?? []
        where line.Is("set-param", "PATH_BASE") && line.Arguments.Length > 1
        let paths = line.Arguments.SkipWhile(static word => word is not ("path_beg" or "path")).Where(static word => word.StartsWith('/'))
            .Select(static path => path.TrimEnd('/')).Distinct()
        select (line.Where, line.Arguments[1].TrimEnd('/'), paths.ToList(), line.Arguments.Length == 2);

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new HaProxyReader(report, file).Read(text);
        return root.Block.Where(static section => section.Is("backend") || section.Is("listen")).SelectMany(static section => section.Block)
            .Where(static line => line.Is("server") && line.Arguments.Length > 1).Select(server => new HaProxyPlace(server, root))
            .OrderBy(static place => !place.IsFastCgi);
    }

    public override void Apply(DoctorReport report) => report.Apply(s_rules, this);

    /// <summary>The line in effect: of the section, or of its defaults.</summary>
    private static Directive? Get(Directive section, params string[] words)
        => section.Find(words) ?? (section.Parent is { Name: "defaults" } defaults ? Get(defaults, words) : null);

    private Directive? Global(string name) => root.Block.Where(static section => section.Is("global")).Select(section => section.Find(name))
        .LastOrDefault(static line => line is not null);

    private static IEnumerable<Seen> FindTrustedBalancer(HaProxyPlace place)
    {
        if (place.Application is not { } app || place.Frontends.Select(static frontend => frontend.Find("http-request", "set-src"))
            .FirstOrDefault(static line => line is not null) is not { } balancer)
            return [];

        // HAProxy sets HTTPS itself where it ends TLS.
        var schemes = app.Block.Where(static line => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS"));
        return schemes.All(static line => line.Arguments is [_, "https", "if", "{", "ssl_fc", "}"])
            ? [new(app.Where, $"a load balancer is trusted ({balancer.Where}), but REQUEST_SCHEME describes its connection")] : [];
    }

    /// <summary>Without a line, the mode is tcp; a part of a configuration does not show it.</summary>
    private IEnumerable<Seen> FindOtherMode(Directive section)
    {
        if (Get(section, "mode") is { } mode)
            return mode.First == "http" ? [] : [new(mode.Where, $"{section.Text} has {mode.Text}")];
        return root.Find("global") is not null ? [new(section.Where, $"{section.Text} has no mode")] : [];
    }

    private static string CreatePathBase(string path) => $"set-param PATH_BASE {path} if {{ path_beg {path}/ }} || {{ path {path} }}";
}
