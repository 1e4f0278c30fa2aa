namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>What does not reach the application or the client, or arrives twice.</summary>
internal static class ReachRules
{
    private const string NoAssets = "requests for style sheets and scripts do not reach the application";
    private const string ApachePass =
        "ProxyPass \"/\" \"unix:/run/app/app.sock|fcgi://app/\" flushpackets=on timeout=120";

    public static IReadOnlyList<Rule> All { get; } =
    [
        new("abstract-socket", Level.Problem, "the web server cannot connect, and returns 502 or 503", BadGateway,
            On<NginxPlace>(place => place.FindAbstract(), "fastcgi_pass unix:/run/app/app.sock;"),
            On<ApachePlace>(place => place.FindAbstract(), ApachePass),
            On<LighttpdPlace>(place => place.FindAbstract(), "\"socket\" => \"/run/app/app.sock\""),
            // The name of abns@ is as long as the address allows, unlike those of other programs.
            On<HaProxyPlace>(place => place.FindAbstract().Select(seen => seen with
            {
                Text = $"{place.Target} is an abstract socket whose name HAProxy fills with zeros",
            }), place
                => $"server {place.Pass.First} abnsz@app proto fcgi # since HAProxy 3.1; before, use a path")),

        new("chroot", Level.Problem, "HAProxy cannot reach the socket, and returns 503",
            PermissionDenied,
            On<HaProxyPlace>(place => place.Chroot is { First: { } root } line
                    ? [new(place.Where, $"HAProxy runs in {root} ({line.Where}), so {place.Target} is "
                        + root.TrimEnd('/') + place.Target[place.Target.IndexOf('/')..])]
                    : [],
                place => $"server {place.Pass.First} 127.0.0.1:9000 proto fcgi")),

        new("module-missing", Level.Problem, "Apache does not start, or returns 500",
            "front-ends/apache.md#minimal-configuration",
            On<ApachePlace>(place => place.See(place.LacksModule(), "proxy_fcgi_module is not loaded"),
                "a2enmod proxy_fcgi")),

        new("front-page", Level.Problem,
            "for /, nginx serves the folder instead of asking the application, and returns 403 unless it contains an "
            + "index", NotFound,
            On<NginxPlace>(place => NginxReach.FindFolder(place).See(), "try_files $uri @app;")),

        new("only-files", Level.Problem, "paths that are not files do not reach the application", NotFound,
            On<NginxPlace>(place => NginxReach.FindMissingFiles(place).See(),
                "# remove try_files, or: try_files $uri @app;")
                with { Effect = "nginx returns 404 for every path that is not a file" },
            On<LighttpdPlace>(place => place.See(!place.IsExtension && place["check-local"] != "disable",
                $"{place.Path} has no \"check-local\" => \"disable\""), "\"check-local\" => \"disable\"")
                with { Effect = "lighttpd returns 404 for each path that is not a file" },
            On<CaddyPlace>(place => place.See(place.Pass.Is("php_fastcgi")
                && !place.Targets.Any(target => target.Contains("php", StringComparison.OrdinalIgnoreCase)),
                place.Pass.Text), place => $$"""
                reverse_proxy {{place.Pass.First}} {
                    transport fastcgi
                }
                """) with
                {
                    Effect = "requests for paths that do not end with .php do not reach the application",
                    Page = "front-ends/caddy.md#minimal-configuration",
                }),

        new("static-files", Level.Note, NoAssets + ", and result in a 404 unless the web server has the files",
            NotFound,
            On<NginxPlace>(place => NginxReach.FindTakenFiles(place, hasRoot: false), TakeFiles)
                with { Level = Level.Problem, Effect = NoAssets + ", and result in a 404" },
            On<NginxPlace>(place => NginxReach.FindTakenFiles(place, hasRoot: true), TakeFiles),
            On<ApachePlace>(place => ApacheReach.FindTakenFiles(place).See(), RemoveLine)),

        new("refused", Level.Note, "these requests do not reach the application", NotFound,
            On<NginxPlace>(NginxReach.FindRefusedMethods, AddMethods),
            On<NginxPlace>(place => NginxReach.FindRefusedPath(place).See(), @"location ~ /\.(?!well-known/) {")
                with { Effect = Hidden },
            On<ApachePlace>(ApacheReach.FindRefusedMethods, AddMethods),
            On<ApachePlace>(place => ApacheReach.FindRefusedPath(place).See(),
                @"# use the pattern ""/\.(?!well-known/)""") with { Effect = Hidden }),

        new("errors-replaced", Level.Note,
            "the web server replaces error responses of the application with its own pages, even for APIs", NotFound,
            On<NginxPlace>(place => place.Pass.GetAll("error_page").Any()
                ? place.Get("fastcgi_intercept_errors", "on").See()
                : [], "fastcgi_intercept_errors off;"),
            On<ApachePlace>(place => place.IsOn("ProxyErrorOverride")
                ? place.Find("ProxyErrorOverride").Last().See()
                : [], "ProxyErrorOverride Off")),

        new("cookies-hidden", Level.Problem, "clients get no cookies, so logins and forms fail",
            Unauthorized,
            On<NginxPlace>(place => NginxReach.FindHiddenCookies(place).See(), RemoveLine),
            On<ApachePlace>(place => ApacheReach.FindHiddenCookies(place).See(), RemoveLine),
            On<LighttpdPlace>(place => place.Visible("setenv.set-response-header").Where(line
                => line.Find("Set-Cookie", "") is not null && line.Around.All(place.Pass.Around.Contains)).See(),
                RemoveLine),
            On<HaProxyPlace>(place => place.Frontends.Append(place.Backend).SelectMany(section => section.Block)
                .FirstOrDefault(line => line.Is("http-response", "del-header", "Set-Cookie")
                    && line.Arguments.Length == 2).See(), RemoveLine),
            On<CaddyPlace>(place => place.Beside.Concat(place.Pass.Block).FirstOrDefault(line
                => line.IsAny("header_down", "header")
                    && line.Arguments is ["-Set-Cookie"] or ["*", "-Set-Cookie"]).See(), RemoveLine)),

        new("posts-repeated", Level.Problem,
            "if an application fails during a POST, the web server sends it again, and it is executed twice",
            BadGateway,
            On<NginxPlace>(place => NginxReach.FindRepeatedPosts(place).See(), "fastcgi_next_upstream error timeout;"),
            On<HaProxyPlace>(place => HaProxyTrust.FindRetry(place).See(),
                "http-request disable-l7-retry if METH_POST"),
            On<CaddyPlace>(place => place.Pass.All.FirstOrDefault(line
                => (line.Is("method") || line.Is("lb_retry_match", "method")) && line.Arguments.Contains("POST")
                    && (line.Is("lb_retry_match") || line.FindAround("lb_retry_match") is not null)).See(),
                "# remove POST from lb_retry_match")),
    ];

    private const string TakeFiles = "# remove this location, or add: try_files $uri @app;";
    private const string AddMethods = "# remove this line, or add the methods of the application";
    private const string Hidden =
        "paths such as /.well-known/openid-configuration do not reach the application";
}
