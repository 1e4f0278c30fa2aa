namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>Sizes, times, buffers, and kept connections.</summary>
internal static class LimitRules
{
    private const string LargeHeaders = "troubleshooting.md#response-headers-that-are-too-large";
    private const string TooLarge = "troubleshooting.md#413-content-too-large";
    private const string FullNginx = "front-ends/nginx.md#full-configuration";

    /// <summary>Also for what an application has returned.</summary>
    public static readonly Rule HeadBuffer = new("head-buffer", Level.Problem,
        "larger response headers, such as login cookies, result in a 502", LargeHeaders,
        On<NginxPlace>(place => place.HeadBuffer.Size <= 4096 ? place.Get("fastcgi_buffer_size").See() : [],
            LargerNginxBuffers) with
        { Level = Level.Note },
        On<NginxPlace>(place => place.See(place.HasDefault("fastcgi_buffer_size"),
            "fastcgi_buffer_size is 4k, the default"), LargerNginxBuffers) with
        { Level = Level.Fact });

    public static IReadOnlyList<Rule> All { get; } =
    [
        HeadBuffer,
        new("body-size", Level.Note,
            "larger uploads result in a 413, although the application accepts 30,000,000 bytes", TooLarge,
            On<NginxPlace>(place => place.BodyLimit is > 0 and < Place.UsualBody
                ? place.Get("client_max_body_size").See()
                : [], "client_max_body_size 30m;"),
            On<NginxPlace>(place => place.See(!place.IsGuard && place.HasDefault("client_max_body_size"),
                "client_max_body_size is 1m, the default"), "client_max_body_size 30m;") with { Level = Level.Fact },
            On<LighttpdPlace>(place => place.BodyLimit is > 0 and < Place.UsualBody
                ? place.Pass.Get("server.max-request-size").See()
                : [], "server.max-request-size = 30000")),

        new("read-timeout", Level.Note,
            "if the application sends nothing for longer, clients get a 504; long polls of Blazor and SignalR last up "
            + "to 90 seconds", "troubleshooting.md#504-gateway-timeout",
            On<NginxPlace>(place => place.ReadTimeout < Place.LongestPoll
                ? place.Get("fastcgi_read_timeout").See()
                : [], "fastcgi_read_timeout 120s;"),
            On<NginxPlace>(place => place.See(!place.IsGuard && place.HasDefault("fastcgi_read_timeout"),
                "fastcgi_read_timeout is 60s, the default"), "fastcgi_read_timeout 120s;"),
            On<ApachePlace>(place => place.See(place.ReadTimeout < Place.LongestPoll,
                place.Timeout is { } timeout ? $"the timeout is {timeout}" : "there is no timeout"), "timeout=120"),
            On<LighttpdPlace>(place => place.See(place.ReadTimeout is > 0 and < Place.LongestPoll,
                Invariant($"read-timeout is {place.ReadTimeout} s")), "\"read-timeout\" => 120"),
            On<HaProxyPlace>(place => place.ReadTimeout is (var where, > 0 and < Place.LongestPoll and var seconds)
                ? [new(where, Invariant($"timeout server is {seconds} s"))]
                : [], "timeout server 120s")),

        new("streaming-held", Level.Problem, "server-sent events arrive late, or all at the end",
            "troubleshooting.md#late-events",
            On<NginxPlace>(place => place.Get("fastcgi_buffering", "off") is null
                ? place.FindIgnored("X-Accel-Buffering").See(
                    "X-Accel-Buffering is ignored while fastcgi_buffering is on")
                : [], "fastcgi_buffering off;"),
            On<ApachePlace>(place => place.See(
                place is { IsProxyPass: true, IsOfScripts: false }
                    && place.GetOption("flushpackets") is not ("on" or "auto"),
                $"{(place.IsBalancer ? "a BalancerMember" : "the ProxyPass line")} has no flushpackets=on"),
                "flushpackets=on"),
            On<LighttpdPlace>(place => place.FindHeldResponse(), "server.stream-response-body = 1"),
            On<HaProxyPlace>(place => place.Frontends
                .Where(section => HaProxyPlace.Get(section, "option", "http-no-delay") is null)
                .See(section => $"{section.Text} has no 'option http-no-delay'"), "option http-no-delay")),

        new("proxy-directive", Level.Note, "it applies only to proxy_pass, and has no effect here", FullNginx,
            On<NginxPlace>(NginxLeftovers.Find, "")),

        new("keepalive-missing", Level.Note, "the web server opens a connection for each request", FullNginx,
            On<NginxPlace>(place => place.IsWhole && place.Get("fastcgi_keep_conn", "on") is null
                && place.Keepalive is { First: not "0" } line
                    ? line.See($"{line.Text}, but no 'fastcgi_keep_conn on;' at {place.Where}")
                    : [], "fastcgi_keep_conn on;") with { Level = Level.Problem },
            On<NginxPlace>(place => place is { IsWhole: true, HasUpstream: false }
                ? place.Get("fastcgi_keep_conn", "on").See(NoPool)
                : [], "keepalive 16;"),
            On<NginxPlace>(place => place is { IsWhole: true, HasUpstream: true, Keepalive: null }
                ? place.Get("fastcgi_keep_conn", "on").See(NoPool)
                : [], "keepalive 16;") with { Until = new(1, 29, 7) },
            On<NginxPlace>(place => place.Get("fastcgi_keep_conn", "on") is not null
                && place.Keepalive is { First: "0" } line
                    ? line.See($"fastcgi_keep_conn on, but {line.Text}")
                    : [], "keepalive 16;")),
    ];

    private const string NoPool = "fastcgi_keep_conn on, but no 'keepalive' in an upstream";
}
