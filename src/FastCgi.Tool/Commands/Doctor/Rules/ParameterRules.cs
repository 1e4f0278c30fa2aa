namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>Parameters and bodies that are missing or wrong.</summary>
internal static class ParameterRules
{
    private const string EmptyBody = "troubleshooting.md#empty-body";
    private const string OtherPort = "troubleshooting.md#redirects-to-another-port";
    private const string RedirectLoop = "troubleshooting.md#redirect-loop";
    private const string Rewrites = "paths.md#rewrites-that-the-application-sees";

    private const string NeverHttps =
        "the application never redirects to https, and browsers reject its secure cookies";

    public static IReadOnlyList<Rule> All { get; } =
    [
        new("params-missing", Level.Problem, "the application returns 400, 'REQUEST_METHOD is missing or empty'",
            BadRequest,
            On<NginxPlace>(place => place.See(place.LacksParameters, place.Pass.GetAll("fastcgi_param").FirstOrDefault(
                static line => line.First == "REQUEST_METHOD") is { } disabled
                ? $"the fastcgi_param in line {place.Parameters[0].Line} disables those inherited from {disabled.Where}"
                : "there is no 'include fastcgi_params;' and no REQUEST_METHOD"), "include fastcgi_params;")),

        new("parameter-missing", Level.Problem, "the application does not know everything about the request",
            BadRequest,
            Lacks("REQUEST_URI", "$request_uri", "the application sees each request as /"),
            Lacks("CONTENT_LENGTH", "$content_length", "the application sees no request body")
                with { Page = EmptyBody },
            Lacks("CONTENT_TYPE", "$content_type", "the application returns 415 for forms and JSON"),
            Lacks("REMOTE_ADDR", "$remote_addr", "the application does not know the client's address")
                with { Page = "identity.md#what-the-application-knows-about-a-client" },
            Lacks("QUERY_STRING", "$query_string",
                "applications that do not use FastCgi.AspNetCore see no query string") with { Level = Level.Note },
            On<NginxPlace>(place => place.Tls is { } tls && place.Lacks("HTTPS") && place.Lacks("REQUEST_SCHEME")
                    ? [new(place.Where, $"{tls.Where} uses TLS, but neither HTTPS nor REQUEST_SCHEME is passed")]
                    : [],
                "fastcgi_param HTTPS $https if_not_empty;") with
                {
                    Effect = "the application sees each request as http: http links, redirect loops",
                    Page = RedirectLoop,
                },
            // nginx sends the last value that is not empty; if all are empty, not even the client's header.
            On<NginxPlace>(place => place.GetParameter("HTTP_HOST").All(string.IsNullOrEmpty)
                    ? place.Set("HTTP_HOST").See()
                    : [],
                "fastcgi_param HTTP_HOST $host:$server_port;") with
                {
                    Effect = "the application does not know which host clients requested",
                    Page = OtherPort,
                },
            // Over HTTP/3, the host is in a pseudo-header, which neither $http_host nor the headers contain.
            On<NginxPlace>(place => place.FindQuicWithoutHost(), "fastcgi_param HTTP_HOST $host;") with
            {
                Effect = "over HTTP/3, nginx before 1.29.5 passes no Host header: redirects, links and host filtering "
                    + "fail",
                Page = OtherPort,
                Until = new(1, 29, 5),
            }),

        new("target-rewritten", Level.Problem, "query strings are lost, and escaped characters in paths are decoded",
            NotFound,
            On<NginxPlace>(place => place.FindRewrittenTarget().See(), "fastcgi_param REQUEST_URI $request_uri;"),
            On<ApachePlace>(place => place.FindRewrittenTarget().See(), RemoveLine),
            On<HaProxyPlace>(place => (place.Application?.Block ?? []).Where(line
                => line.Arguments is ["REQUEST_URI", "%[path]", ..]).See(), RemoveLine),
            On<CaddyPlace>(place => place.IsGuard || place.Pass.FindAround("handle_errors") is not null ? []
                : place.Parameters.Where(line => line.Arguments
                    is ["REQUEST_URI", "{path}" or "{uri.path}" or "{http.request.uri.path}"]).See(), RemoveLine)),

        new("body-dropped", Level.Problem, "the application sees no request body", EmptyBody,
            On<NginxPlace>(place => place.IsGuard ? [] : place.Get("fastcgi_pass_request_body", "off").See(),
                "fastcgi_pass_request_body on;")),

        new("authorization-dropped", Level.Problem, "the application never sees Authorization and returns 401",
            Unauthorized,
            On<NginxPlace>(place => place.Get("fastcgi_pass_request_headers", "off").See(),
                "fastcgi_pass_request_headers on;"),
            On<NginxPlace>(place => place.Set("HTTP_AUTHORIZATION", "").See(),
                "fastcgi_param HTTP_AUTHORIZATION $http_authorization;"),
            On<ApachePlace>(place => place.See(
                place is { IsWhole: true, PassesAuthorization: false, IsOfScripts: false },
                place.MisplacedAuthorization is { } line
                    ? $"CGIPassAuth in {line.Where} is not allowed in <VirtualHost>: use <Location>"
                    : $"no CGIPassAuth On for {place.Path}"), place => place.Locate("CGIPassAuth On")),
            On<HaProxyPlace>(place => place.FindDroppedAuthorization().See(
                app => $"{app.Text} has no 'pass-header Authorization'"), "pass-header Authorization")),

        new("host-port", Level.Problem, "redirects and links lack the port", OtherPort,
            On<NginxPlace>(place => place.FindHostsWithoutPort(), "fastcgi_param HTTP_HOST $host:$server_port;")),

        new("scheme-constant", Level.Problem, NeverHttps, RedirectLoop,
            On<NginxPlace>(place => NginxTrust.FindConstantScheme(place).See(Plain), """
                # replace this line:
                fastcgi_param HTTPS $https if_not_empty;
                """),
            On<ApachePlace>(place => ApacheTrust.FindConstantScheme(place).See(Plain),
                "# remove this line: Apache sets HTTPS for TLS"),
            On<LighttpdPlace>(place => LighttpdTrust.FindConstantScheme(place).See(
                _ => "HTTPS is set, although requests arrive over http"),
                "# remove this line: lighttpd sets HTTPS for TLS"),
            On<HaProxyPlace>(place => HaProxyTrust.FindConstantScheme(place).See(Plain),
                "set-param REQUEST_SCHEME https if { ssl_fc }"),
            On<CaddyPlace>(place => CaddyTrust.FindConstantScheme(place).See(Plain),
                "# remove this line: Caddy sets HTTPS for TLS")),

        new("scheme-behind-balancer", Level.Problem,
            "if the load balancer terminates TLS, the application sees each request as http: redirect loops",
            "front-ends/nginx.md#behind-a-load-balancer",
            On<NginxPlace>(place => place.FindTrustedBalancer(), "fastcgi_param HTTPS $forwarded_https if_not_empty;"),
            On<ApachePlace>(place => place is { IsWhole: true, SetsHttps: false, UsesTls: false }
                ? place.FindGlobal("RemoteIPHeader").See(
                    "a load balancer is trusted, but nothing sets HTTPS for its requests")
                : [], HttpsFromBalancer) with { Page = "front-ends/apache.md#behind-a-load-balancer" },
            On<HaProxyPlace>(place => place.FindTrustedBalancer(),
                "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https }")
                with { Page = "front-ends/haproxy.md#behind-a-load-balancer" }),

        new("path-base", Level.Problem, "the path base does not match the location, which results in a 404", NotFound,
            On<NginxPlace>(place => place is { IsBelowRoot: true, PathBase: [not '$', ..] value }
                && !Place.IsBelow(place.Base, value)
                    ? place.Set("PATH_BASE").See($"location {place.Prefix} passes PATH_BASE {value}")
                    : [], place => $"fastcgi_param PATH_BASE {place.Base};"),
            On<NginxPlace>(place => place is { Prefix: "/", PathBase: ['/', _, ..] value }
                    ? place.Set("PATH_BASE").See($"location / passes PATH_BASE {value} with each request")
                    : [], place => $$"""
                location {{place.PathBase!.TrimEnd('/')}}/ {
                    include fastcgi_params;
                    fastcgi_param PATH_BASE {{place.PathBase.TrimEnd('/')}};
                    fastcgi_pass {{place.Pass.First}};
                }
                """) with { Level = Level.Note, Effect = "paths that do not begin with it result in a 404" },
            On<NginxPlace>(place => place.See(place.LacksPathBase, $"location {place.Prefix} passes no PATH_BASE"),
                place => $"fastcgi_param PATH_BASE {place.Base};") with { Level = Level.Note, Effect = WholePath },
            On<ApachePlace>(place => place.FindWrongPathBases(), ""),
            On<ApachePlace>(place => place.See(place.LacksPathBase, $"no PATH_BASE is passed for {place.Base}"),
                place => place.Locate($"SetEnv PATH_BASE {place.Base}"))
                with { Level = Level.Note, Effect = WholePath }),

        new("rewrite-unseen", Level.Note,
            "the application sees the URL that the client sent, not the new one, unless it sets PathSource", Rewrites,
            On<NginxPlace>(place => place.FindUnseenRewrite().See(),
                "options.PathSource = FastCgiPathSource.DocumentUri;"),
            On<ApachePlace>(place => place.FindUnseenRewrite().See(),
                "options.PathSource = FastCgiPathSource.ScriptNameAndPathInfo;"),
            On<CaddyPlace>(place => place is { SetsTarget: false, IsGuard: false } ? place.Rewrite.See() : [],
                "options.PathSource = FastCgiPathSource.ScriptNameAndPathInfo;")),

        new("nocanon", Level.Problem, "a request with a query results in a 403",
            "front-ends/apache.md#full-configuration",
            On<ApachePlace>(place => place.See(place is { IsWhole: true, IsNoCanon: true }
                && !place.Find("ProxyFCGIBackendType").Any(type => type.Is(type.Name, "GENERIC")),
                "nocanon without ProxyFCGIBackendType GENERIC"), place => place.Locate("ProxyFCGIBackendType GENERIC")),
            On<ApachePlace>(place => place.IsNoCanon ? [] : place.FindEncodedSlashes().See(
                $"AllowEncodedSlashes NoDecode, and the ProxyPass in line {place.Pass.Line} has no nocanon"), "nocanon")
                with { Effect = "%2F in a path arrives as %252F", Page = NotFound }),
    ];

    private const string WholePath =
        "the application sees paths that begin with this one, and returns 404 unless it expects them";

    private static RuleCase<NginxPlace> Lacks(string name, string value, string effect)
        => On<NginxPlace>(place => place.See(place.Lacks(name), $"{name} is not passed"),
            $"fastcgi_param {name} {value};") with
        { Effect = effect };

    private static string Plain(Directive line) => $"{line.Text}, although requests arrive over http";
}
