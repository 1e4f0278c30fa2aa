namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A server of HAProxy's backends.</summary>
internal sealed class HaProxyPlace(Directive server, Directive root) : Place(server)
{
    // HAProxy reserves a part of each buffer for its own changes.
    private const int UsualBuffer = 16_384;
    private const int RewriteReserve = 1_024;

    public override bool IsFastCgi
        => HasFastCgi(Pass) || (Get(Backend, "default-server") is { } usual && HasFastCgi(usual));

    public override string Description => $"{Backend.Text} to {Target}";
    public override bool ReachesAbstract => Target.StartsWith("abnsz@", StringComparison.Ordinal);
    public override string? User => Global("user")?.First;
    public override HeadBuffer HeadBuffer
        => new(BufferSize - RewriteReserve, "HAProxy", "HAProxy returns 502", "tune.bufsize 32768");

    public override IEnumerable<string> Targets => Chroot is not null
        ? []
        : [Target.Replace("unix@", "unix:").Replace("ipv4@", "")
            .Replace("abns@", "unix:@").Replace("abnsz@", "unix:@")];

    /// <summary>Gets a time, which HAProxy counts in milliseconds if there is no unit.</summary>
    public (string Where, double Seconds) ReadTimeout => Get(Backend, "timeout", "server") is not { } line
        ? (Where, 0)
        : (line.Where, NginxPlace.Measure(line.Arguments.ElementAtOrDefault(1), 0, static unit
            => unit switch { "us" => 1e-6, "s" => 1, "m" => 60, "h" => 3600, "d" => 86400, _ => 1e-3 }));

    public override string FastCgiLines => $"use-fcgi-app hello\nserver {Pass.First} {Target} proto fcgi";

    public Directive Backend => Pass.Parent!;

    /// <summary>The address: <c>server name address</c>, or <c>server-template prefix count address</c>.</summary>
    public string Target => Pass.Arguments[Pass.Is("server") ? 1 : 2];

    /// <summary>Escapes and dot segments, which HAProxy does not change.</summary>
    public override IEnumerable<string> Respell(string path) => [.. base.Respell(path), Escape(path), "/x/.." + path];

    /// <summary>Whether a line selects a backend that refuses all requests.</summary>
    public bool LeadsToRefusal(Directive line) => root.Find("backend", line.First ?? "") is { } backend
        && backend.Block.Exists(static rule => rule.Is("http-request", "deny") && !rule.Arguments.Contains("if"));

    public Directive? UseLine => Get(Backend, "use-fcgi-app") is { First: not null } line ? line : null;
    public Directive? Application => UseLine is { } use ? root.Find("fcgi-app", use.First!) : null;

    /// <summary>The line that moves HAProxy to another root folder, if the socket is below the usual one.</summary>
    public Directive? Chroot => Regex.IsMatch(Target, "^(unix@)?/") ? Global("chroot") : null;

    /// <summary>The sections that send requests to the backend.</summary>
    public IEnumerable<Directive> Frontends => Backend.Is("listen")
        ? [Backend]
        : root.Block.Where(section => section.IsAny("frontend", "listen")
            && section.Block.Where(static line => line.Is("use_backend"))
                .Append(Get(section, "default_backend")).Any(LeadsHere));

    private int BufferSize
        => int.TryParse(Global("tune.bufsize")?.First, CultureInfo.InvariantCulture, out var size) ? size : UsualBuffer;

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new HaProxyReader(report, file).Read(text);
        return root.Block.Where(static section => section.IsAny("backend", "listen"))
            .SelectMany(static section => section.Block)
            .Where(static line => (line.Is("server") && line.Arguments.Length > 1)
                || (line.Is("server-template") && line.Arguments.Length > 2))
            .Select(server => new HaProxyPlace(server, root)).OrderBy(static place => !place.IsFastCgi);
    }

    /// <summary>The line in effect: of the section, or of its defaults.</summary>
    public static Directive? Get(Directive section, params string[] words)
        => section.Find(words) ?? (section.Parent is { Name: "defaults" } defaults ? Get(defaults, words) : null);

    /// <summary>The lines of a section and its defaults.</summary>
    public static IEnumerable<Directive> GetLines(Directive section)
        => section.Around.Where(static block => block.Is("defaults")).Reverse().Append(section)
            .SelectMany(static block => block.Block);

    /// <summary>The rules of a section, in the order in which HAProxy applies them.</summary>
    public static List<Directive> GetRules(Directive section)
        => [.. GetLines(section).Where(static line => line.IsAny("tcp-request", "http-request", "redirect"))
            .OrderBy(static line => !line.Is("tcp-request", "connection"))
            .ThenBy(static line => !line.Is("tcp-request"))];

    /// <summary>Whether a line sends requests to the backend, or to any that a request names.</summary>
    public bool LeadsHere(Directive? line)
        => line?.First == Backend.First || line?.First?.Contains("%[", StringComparison.Ordinal) == true;

    /// <summary>Finds the application that does not get the credentials of clients.</summary>
    public Directive? FindDroppedAuthorization() => Application is { } app
        && (app.Find("pass-header", "Authorization") ?? app.Find("set-param", "HTTP_AUTHORIZATION")) is null
            ? app
            : null;

    /// <summary>Finds a trusted load balancer whose scheme is not passed.</summary>
    public IEnumerable<Seen> FindTrustedBalancer()
    {
        // HAProxy sets HTTPS itself where it ends TLS.
        var balancer = Frontends.Where(static section => section.Block.Exists(static line
                => line.Is("bind") && !line.Arguments.Contains("ssl")))
            .SelectMany(GetRules).FirstOrDefault(static line => line.Is("http-request", "set-src"));
        if (Application is not { } app || balancer is null)
            return [];

        var schemes = app.Block.Where(static line
            => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS"));
        return schemes.All(static line => line.Arguments is [_, "https", "if", "{", "ssl_fc", "}"])
            ? app.See($"a load balancer is trusted ({balancer.Where}), but REQUEST_SCHEME describes its connection")
            : [];
    }

    private static bool HasFastCgi(Directive line) => $"{line.Text} ".Contains(" proto fcgi ");

    private Directive? Global(string name) => root.Block.Where(static section => section.Is("global"))
        .Select(section => section.Find(name)).LastOrDefault(static line => line is { First: not null });
}
