namespace FastCgi.Tool.Commands.Doctor.Rules;

/// <summary>What a client can forge, and what it gets of others.</summary>
internal static class TrustRules
{
    private const string Trusted = "security.md#parameters-that-a-client-can-set";
    private const string Underscores = "security.md#header-names-with-underscores";
    private const string User = "identity.md#the-user";
    private const string Subrequests = "roles.md#nginx-and-caddy";
    private const string ErrorPages = "paths.md#error-pages-from-the-application";

    private const string ChosenAddress = "any client chooses the address that the application sees, with a header";
    private const string ChosenScheme = "any client chooses the scheme that the application sees, with a header";
    private const string SameHeader =
        "X_Auth_User is the same parameter as X-Auth-User, so a client can set or override a header that a proxy sets";

    private const string FromNginxBalancer = "geo $realip_remote_addr $from_balancer { default \"\"; 192.0.2.10 yes; }";

    public static IReadOnlyList<Rule> All { get; } =
    [
        new("client-chosen", Level.Problem, ChosenAddress, Trusted,
            On<NginxPlace>(place => NginxTrust.FindBalancer(place).See(Everybody), "set_real_ip_from 192.0.2.10;")
                with { Page = "front-ends/nginx.md#behind-a-load-balancer" },
            On<NginxPlace>(place => NginxTrust.FindChosen(place, name => name is "REMOTE_ADDR" or "REMOTE_PORT"),
                place => $"""
                fastcgi_param REMOTE_ADDR $remote_addr;
                # behind a load balancer, in the server:
                set_real_ip_from 192.0.2.10;
                real_ip_header {(place.AcceptsProxy ? "proxy_protocol" : "X-Forwarded-For")};
                """),
            On<NginxPlace>(place => NginxTrust.FindChosen(place, name => name is "HTTPS" or "REQUEST_SCHEME"), $$"""
                {{FromNginxBalancer}}
                map $from_balancer:$http_x_forwarded_proto $forwarded_https { default ""; yes:https on; }
                # in the location, instead of this line:
                fastcgi_param HTTPS $forwarded_https if_not_empty;
                """) with { Effect = ChosenScheme },
            On<NginxPlace>(place => NginxTrust.FindChosen(place, name
                    => name is not ("REMOTE_ADDR" or "REMOTE_PORT" or "HTTPS" or "REQUEST_SCHEME")), $"""
                # remove this line, or accept the header only from the load balancer:
                {FromNginxBalancer}
                """),
            On<NginxPlace>(NginxReach.FindPassedGuards, "") with { Effect = Guards.OtherSpelling },
            On<NginxPlace>(NginxReach.FindPassedConditions, "") with { Effect = Guards.OtherSpelling },
            On<ApachePlace>(place => ApacheTrust.FindBalancer(place).See(
                line => $"{line.Text} without a list of load balancers trusts everybody"),
                 "RemoteIPInternalProxy 192.0.2.10")
                with { Page = "front-ends/apache.md#behind-a-load-balancer" },
            On<ApachePlace>(ApacheTrust.FindPassedGuards, "") with { Effect = Guards.OtherSpelling },
            On<ApachePlace>(ApacheReach.FindUnusedGuards, "") with
            {
                Effect = "any client passes the guard, because ProxyPass takes requests before Apache looks for files",
            },
            On<ApachePlace>(ApacheTrust.FindChosen, $"""
                # a condition for the load balancer:
                {HttpsFromBalancer}
                """),
            On<LighttpdPlace>(place => LighttpdTrust.FindBalancer(place).See(Everybody),
                 "extforward.forwarder = (\"192.0.2.10\" => \"trust\")")
                with { Page = "front-ends/lighttpd.md#behind-a-load-balancer" },
            On<LighttpdPlace>(LighttpdTrust.FindChosen, "$HTTP[\"remoteip\"] == \"192.0.2.10\" {"),
            On<HaProxyPlace>(place => HaProxyTrust.FindBalancer(place).See(), """
                acl from-balancer src 192.0.2.10
                http-request set-src req.hdr_ip(X-Forwarded-For,-1) if from-balancer
                """) with { Page = "front-ends/haproxy.md#behind-a-load-balancer" },
            On<HaProxyPlace>(place => HaProxyTrust.FindProxied(place).See(Everybody),
                "tcp-request connection reject if !{ src 192.0.2.10 }") with
                {
                    Level = Level.Note,
                    Effect = "any client chooses the address that the application sees, with the PROXY protocol",
                },
            On<HaProxyPlace>(HaProxyTrust.FindPassedGuards, "") with
            {
                Effect = "any client passes the guard: the application ignores the case of paths and a slash at the "
                    + "end, decodes %61, and resolves /../",
            },
            On<LighttpdPlace>(LighttpdTrust.FindPassedGuards, "") with { Effect = Guards.OtherSpelling },
            On<CaddyPlace>(CaddyTrust.FindPassedGuards, "") with { Effect = Guards.OtherSpelling },
            On<HaProxyPlace>(HaProxyTrust.FindChosen, """
                acl from-balancer src 192.0.2.10
                # add to the line that reads the header, or remove it: if from-balancer
                """),
            On<CaddyPlace>(place => CaddyTrust.FindBalancer(place).See(Everybody), "trusted_proxies static 192.0.2.10")
                with { Page = "front-ends/caddy.md#behind-a-load-balancer" },
            On<CaddyPlace>(CaddyTrust.FindChosen,
                "@balancer remote_ip 192.0.2.10 # for what reads the header, or remove this line")),

        new("cache-shared", Level.Problem, "one user gets the page or the cookie of another", Trusted,
            On<NginxPlace>(place => NginxTrust.FindSharedCache(place).See(line => $"{line.Text}, with a key and a "
                + "fastcgi_no_cache that contain neither the session's cookie nor Authorization"), """
                fastcgi_cache_bypass $http_cookie $http_authorization;
                fastcgi_no_cache $http_cookie $http_authorization;
                """),
            On<NginxPlace>(place => NginxTrust.FindCachedCookies(place).See("fastcgi_cache ignores Set-Cookie"),
                 "fastcgi_ignore_headers Cache-Control Expires;"),
            On<ApachePlace>(place => ApacheReach.FindSharedCache(place).See(
                line => $"{line.Text} stores responses that are not marked as public"), "SetEnvIf Cookie . no-cache")),

        // nginx passes the name of any Authorization header, checked or not.
        new("user-unverified", Level.Problem, "with AddFastCgi(), any client can claim to be any user", User,
            On<NginxPlace>(place => place.Set("AUTH_TYPE") is { Arguments: [_, not ("" or ['$', ..]), ..] } line
                && !place.ChecksUser
                    ? line.See("AUTH_TYPE is passed, but no directive authenticates the user")
                    : [], place => place.HasCertificate ? "ssl_verify_client on;" : """
                auth_basic "Members";
                auth_basic_user_file /etc/nginx/members;
                """),
            On<NginxPlace>(place => place.Get("ssl_verify_client", "optional_no_ca") is not null
                ? place.Set("SSL_CLIENT_VERIFY", "SUCCESS").See()
                : [], "fastcgi_param SSL_CLIENT_VERIFY $ssl_client_verify;")
                with { Effect = "any client can use a certificate that it has signed" },
            On<NginxPlace>(place => place.Set("AUTH_TYPE") is null && place.Set("REMOTE_USER") is not null
                ? place.GetUnless("auth_basic", "off").See("auth_basic without AUTH_TYPE")
                : [], "fastcgi_param AUTH_TYPE Basic;")
                with
                {
                    Level = Level.Note,
                    Effect = "an application with AddFastCgi() ignores the user and returns 401",
                },
            On<HaProxyPlace>(place => HaProxyTrust.FindUnverified(place).See(),
                "http-request auth unless { http_auth(members) }"),
            On<CaddyPlace>(place => place.FindUnverified().See(), "mode verify_if_given")),

        new("underscores", Level.Problem, SameHeader, Underscores,
            On<NginxPlace>(place => place.SetsHeaders ? place.FindUnderscores() : [], ""),
            On<NginxPlace>(place => place.SetsHeaders ? [] : place.FindUnderscores(), "") with { Level = Level.Note },
            On<LighttpdPlace>(place => place.SetHeaders.See(item => $"lighttpd sets {item.Name}"),
                "magnet.attract-raw-url-to = (\"/etc/lighttpd/headers.lua\")") with { Until = new(1, 4, 83) },
            On<CaddyPlace>(place => place.DropsUnderscores ? [] : place.TrustedHeader.See(), "request_header -*_*")
                with { Effect = SameHeader + "; header_up -*_* does not help", Until = new(2, 11, 4) },
            On<CaddyPlace>(place => place.See(place is { DropsUnderscores: false, TrustedHeader: null, IsWhole: true },
                "the site has no request_header -*_*"), "request_header -*_*")
                with { Level = Level.Note, Until = new(2, 11, 4) }),

        new("auth-request", Level.Problem,
            "the application runs the guarded page instead of the guard, and its 200 allows the request", Subrequests,
            On<NginxPlace>(place => place.FindGuard("REQUEST_URI", "request_uri"), """
                fastcgi_param REQUEST_URI $uri$is_args$args;
                fastcgi_param REQUEST_METHOD GET;
                """),
            On<NginxPlace>(place => place.FindGuard("REQUEST_METHOD", "request_method"),
                "fastcgi_param REQUEST_METHOD GET;") with
                {
                    Effect = "the guard is called with the method of the guarded request; a GET endpoint rejects a "
                        + "POST, and nginx returns 500",
                },
            On<CaddyPlace>(place => place.See(place is { IsGuard: true, SetsTarget: false },
                "the guard has no env REQUEST_URI"), "env REQUEST_URI /auth")),

        new("error-page", Level.Problem,
            "the application gets the refused URL, and returns the page that the client may not see", ErrorPages,
            On<NginxPlace>(place => place.FindErrorPages(isRefused: true), "fastcgi_param REQUEST_URI $uri;"),
            On<NginxPlace>(place => place.FindErrorPages(isRefused: false), "fastcgi_param REQUEST_URI $uri;")
                with { Level = Level.Note, Effect = FailedUrl },
            On<ApachePlace>(place => place.FindErrorPages(isRefused: true), ""),
            On<ApachePlace>(place => place.FindErrorPages(isRefused: false), "")
                with { Level = Level.Note, Effect = FailedUrl },
            On<CaddyPlace>(place => place.SetsTarget ? [] : place.Pass.FindAround("handle_errors").See(),
                "env REQUEST_URI /refused")),
    ];

    private static string Everybody(Directive line) => $"{line.Text} trusts everybody";

    private const string FailedUrl = "the application gets the URL of the failed request, and returns its page";
}
