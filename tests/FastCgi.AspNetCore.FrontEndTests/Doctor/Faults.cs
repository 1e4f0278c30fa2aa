using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.FrontEndTests.Doctor;

/// <summary>
/// The faults of <c>docs/troubleshooting.md</c> that a request shows, with each web server that can have them. Those
/// that only the tool sees are in DoctorCases.tsv.
/// </summary>
internal static partial class Faults
{
    private const string Include = "include fastcgi_params;";
    private const string NginxPass = "fastcgi_pass unix:/run/hello/app.sock;";
    private const string ApachePass = "ProxyPass \"/\" \"unix:/run/hello/app.sock|fcgi://hello/\"";
    private const string ApacheHttp = "LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\n";
    private const string WithPort = "fastcgi_param HTTP_HOST $host:$server_port;";

    public static IReadOnlyDictionary<string, Fault> All { get; } =
        new[] { Unreached(), Protocols(), Parameters(), Limits(), Identities(), Connections() }.SelectMany(
            static faults => faults).ToDictionary(static fault => fault.ToString());

    /// <summary>No connection: nothing listens, or access is denied.</summary>
    private static IEnumerable<Fault> Unreached()
    {
        foreach (var kind in new[] { FrontEndKind.Nginx, FrontEndKind.Apache, FrontEndKind.Lighttpd })
        {
            yield return new("nothing listens", kind)
            {
                Listener = Listener.Nobody,
                Rule = ("no-socket", "--urls 'fastcgi://unix:"),
                Status = Unavailable(kind),
                Log = kind switch
                {
                    FrontEndKind.Nginx => "(2: No such file or directory) while connecting to upstream",
                    FrontEndKind.Apache => "(2)No such file or directory: AH02454",
                    _ => "No such file or directory",
                },
            };
        }

        yield return new("nothing listens", FrontEndKind.HaProxy)
        {
            Listener = Listener.Nobody,
            Rule = ("nobody-listens", "--urls fastcgi://127.0.0.1:"),
            Status = HttpStatusCode.ServiceUnavailable,
        };

        // In the tests, lighttpd and HAProxy run as root.
        foreach (var kind in new[] { FrontEndKind.Nginx, FrontEndKind.Apache })
        {
            yield return new("the socket is closed to it", kind)
            {
                Listener = Listener.ClosedSocket,
                Event = ("SocketOutOfReach", "?mode=0660&group="),
                Rule = ("permission", "?mode=0660&group="),
                Status = Unavailable(kind),
                Log = kind == FrontEndKind.Nginx ? "(13: Permission denied)" : "(13)Permission denied: AH02454",
            };
        }
    }

    /// <summary>The web server speaks another protocol than FastCGI.</summary>
    private static IEnumerable<Fault> Protocols()
    {
        yield return Http(
            FrontEndKind.Nginx, "fastcgi_pass unix:", (NginxPass, "proxy_pass http://unix:/run/hello/app.sock:;"));
        yield return Http(
            FrontEndKind.Apache,
            "|fcgi://hello/\" flushpackets=on",
            (ApachePass, ApacheHttp + ApachePass.Replace("fcgi:", "http:")));
        yield return Http(FrontEndKind.HaProxy, "proto fcgi", (" proto fcgi", ""), ("    use-fcgi-app hello\n", ""));
        yield return Http(
            FrontEndKind.Lighttpd,
            "fastcgi.server = (",
            ("fastcgi.server", "server.modules += (\"mod_proxy\")\nproxy.server"));
        yield return new("TLS is sent to the FastCGI port", FrontEndKind.Nginx)
        {
            Wrong = [(NginxPass, "proxy_pass https://unix:/run/hello/app.sock:;")],
            Event = ("WrongProtocol", "received TLS"),
            Rule = ("other-protocol", "fastcgi_pass unix:"),
        };
        foreach (var (protocol, directive, parameter) in new[]
        {
            ("uwsgi", "uwsgi_pass", "uwsgi_param"),
            ("SCGI", "scgi_pass", "scgi_param"),
        })
        {
            yield return new($"{protocol} is sent to the FastCGI port", FrontEndKind.Nginx)
            {
                Wrong =
                    [(NginxPass, $"{parameter} REQUEST_METHOD $request_method; {directive} unix:/run/hello/app.sock;")],
                Event = ("WrongProtocol", "received " + protocol),
            };
        }
    }

    private static Fault Http(FrontEndKind kind, string line, params (string, string)[] wrong)
        => new("HTTP is sent to the FastCGI port", kind)
        {
            Wrong = wrong,
            Event = ("WrongProtocol", "fastcgi_pass"),
            Rule = ("other-protocol", line),
            Status = HttpStatusCode.BadRequest,
        };

    /// <summary>Missing or wrong parameters.</summary>
    private static IEnumerable<Fault> Parameters()
    {
        const FrontEndKind Nginx = FrontEndKind.Nginx;
        (string, string)[] withPort = [(Include, $"{Include} {WithPort}")];
        yield return new("no include", Nginx)
        {
            Wrong = [("        " + Include + "\n", "")],
            Event = ("ParametersMissing", Include),
            Rule = ("params-missing", Include),
            Status = HttpStatusCode.BadRequest,
        };
        yield return new("a parameter of its own", Nginx)
        {
            Wrong = [(
                "    location / {\n        " + Include,
                "    " + Include + "\n    location / {\n        fastcgi_param PATH_BASE /;")],
            Event = ("ParametersMissing", Include),
            Rule = ("params-missing", Include),
            Status = HttpStatusCode.BadRequest,
        };
        yield return new("no REQUEST_URI", Nginx)
        {
            Wrong = [(
                Include,
                "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_LENGTH $content_length;")],
            Visit = static client => client.GetStringAsync("/page"),
            Event = ("ParametersMissing", "REQUEST_URI"),
            Rule = ("parameter-missing", "fastcgi_param REQUEST_URI $request_uri;"),
        };
        yield return new("a host without its port", Nginx)
        {
            Wrong = [(Include, $"{Include} fastcgi_param HTTP_HOST $host;")],
            Right = withPort,
            Application = static app => app.MapFallback(
                static (HttpRequest request) => Results.Redirect($"http://{request.Host}/there")),
            Event = ("HostWithoutPort", "fastcgi_param HTTP_HOST $host:$server_port;"),
            Rule = ("host-port", "fastcgi_param HTTP_HOST $host:$server_port;"),
        };
        yield return new("no host", Nginx)
        {
            // After an include that sets it, the empty value would have no effect.
            Wrong = [(
                Include,
                "fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; fastcgi_param "
                    + "CONTENT_LENGTH $content_length;\nfastcgi_param SERVER_SOFTWARE nginx; fastcgi_param "
                    + "SERVER_PROTOCOL $server_protocol; fastcgi_param HTTP_HOST \"\";")],
            Right = withPort,
            Speedup = 3,
            Event = ("HostNotPassed", "fastcgi_param HTTP_HOST $host:$server_port;"),
            Rule = ("parameter-missing", "fastcgi_param HTTP_HOST $host:$server_port;"),
        };

        yield return new("no scheme", Nginx)
        {
            UsesTls = true,
            Speedup = 3,
            Visit = OfBalancer,
            Wrong = [(
                "    include fastcgi_params;\n    fastcgi_param HTTP_HOST",
                "    fastcgi_param REQUEST_METHOD $request_method; fastcgi_param REQUEST_URI $request_uri; "
                    + "fastcgi_param CONTENT_LENGTH $content_length;\n    fastcgi_param SERVER_SOFTWARE nginx;\n"
                    + "    fastcgi_param HTTP_HOST")],
            Event = ("SchemeNotPassed", "fastcgi_param HTTPS $https if_not_empty;"),
            Rule = ("parameter-missing", "fastcgi_param HTTPS $https if_not_empty;"),
        };
        yield return new("no scheme", FrontEndKind.HaProxy)
        {
            IsFixedBehindBalancer = true,
            Speedup = 3,
            Visit = OfBalancer,
            Wrong = [("    set-param REQUEST_SCHEME https if { ssl_fc }\n", "")],
            Event = (
                "SchemeNotPassed",
                "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https }"),
        };
        foreach (var kind in Kinds)
            yield return BehindBalancer(kind);
        yield return new("the load balancer's scheme is dropped", Nginx)
        {
            IsBehindBalancer = true,
            Wrong = [("        fastcgi_param HTTPS $forwarded_https if_not_empty;\n", "")],
            Application = RedirectToHttps,
            Visit = OfBalancer,
            Event = ("RedirectToHttps", "Behind a load balancer"),
            Rule = ("scheme-behind-balancer", "fastcgi_param HTTPS $forwarded_https if_not_empty;"),
        };
        yield return new("the load balancer's scheme is dropped", FrontEndKind.Apache)
        {
            IsBehindBalancer = true,
            Wrong = [("    SetEnvIfExpr", "    # SetEnvIfExpr")],
            Application = RedirectToHttps,
            Visit = OfBalancer,
            Event = ("RedirectToHttps", "Behind a load balancer"),
            Rule = ("scheme-behind-balancer", "HTTPS=on"),
        };
        yield return new("the load balancer's scheme is dropped", FrontEndKind.HaProxy)
        {
            IsBehindBalancer = true,
            Wrong = [(" || { var(txn.forwarded_proto) -m str https }", "")],
            Application = RedirectToHttps,
            Visit = OfBalancer,
            Event = ("RedirectToHttps", "Behind a load balancer"),
            Rule = (
                "scheme-behind-balancer",
                "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https }"),
        };
        yield return NoPathBase(Nginx, (Include, $"{Include} fastcgi_param PATH_BASE /app;"));
        yield return NoPathBase(FrontEndKind.Apache, ("CGIPassAuth On", "CGIPassAuth On\nSetEnv PATH_BASE /app"));
        yield return PathBase(
            Nginx, "fastcgi_param PATH_BASE /other;", (Include, $"{Include} fastcgi_param PATH_BASE /other;"));
        yield return PathBase(
            FrontEndKind.Apache,
            "SetEnv PATH_BASE /other",
            ("CGIPassAuth On", "CGIPassAuth On\nSetEnv PATH_BASE /other"));
        yield return PathBase(
            FrontEndKind.HaProxy, null, ("docroot /", "docroot /\n    set-param PATH_BASE /other"));
        yield return PathBase(
            FrontEndKind.Lighttpd,
            null,
            (
                "fastcgi.server",
                "server.modules += (\"mod_setenv\")\nsetenv.add-environment = (\"PATH_BASE\" => \"/other\")\n"
                    + "fastcgi.server"));
    }

    private static Fault BehindBalancer(FrontEndKind kind) => new("it does not know of the load balancer", kind)
    {
        IsFixedBehindBalancer = true,
        Application = RedirectToHttps,
        Visit = OfBalancer,
        Event = ("RedirectToHttps", "'Behind a load balancer'"),
    };

    private static Fault PathBase(FrontEndKind kind, string? line, (string, string) wrong)
        => new("a path base of another path", kind)
        {
            Wrong = [wrong],
            Application = static app => app.MapGet("/page", static () => "reached"),
            Visit = static async client => (await client.GetAsync("/app/page")).Dispose(),
            Event = ("PathBaseNotMatched", "FastCgi:PathBase"),
            Rule = line is null ? null : ("path-base", line),
        };

    private static Fault NoPathBase(FrontEndKind kind, (string, string) right) => new("no path base", kind)
    {
        Right = [right],
        Speedup = 3,
        Application = static app => app.MapGet("/page", static () => "reached"),
        Visit = static async client =>
        {
            for (var i = 0; i < 5; i++)
                (await client.GetAsync("/app/page")).Dispose();
        },
        Event = ("PathBaseMissing", "PATH_BASE /app"),
    };

    private static void RedirectToHttps(WebApplication app)
        => app.MapFallback(
            static (HttpRequest request) => request.IsHttps
                ? Results.Text("reached")
                : Results.Redirect($"https://{request.Host.Host}{request.Path}"));

    private static Func<HttpClient, Task> OfBalancer => AskAsync(static request =>
    {
        request.Headers.Add("X-Forwarded-For", "198.51.100.7");
        request.Headers.Add("X-Forwarded-Proto", "https");
    });

    private static Func<HttpClient, Task> AskAsync(Action<HttpRequestMessage> change) => async client =>
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/")
        {
            Version = client.DefaultRequestVersion,
            VersionPolicy = client.DefaultVersionPolicy,
        };
        change(request);
        (await client.SendAsync(request)).Dispose();
    };

    private static HttpStatusCode Unavailable(FrontEndKind kind)
        => kind == FrontEndKind.Nginx ? HttpStatusCode.BadGateway : HttpStatusCode.ServiceUnavailable;

    /// <summary>Who the client is.</summary>
    private static IEnumerable<Fault> Identities()
    {
        yield return Authorization(FrontEndKind.Apache, "CGIPassAuth On", ("        CGIPassAuth On\n", ""));
        yield return Authorization(
            FrontEndKind.HaProxy, "pass-header Authorization", ("    pass-header Authorization", "    # none"));
        yield return new("a user that is not taken", FrontEndKind.Nginx)
        {
            Wrong = [(Include, $"{Include} fastcgi_param REMOTE_USER $remote_user;")],
            Right = [(Include, $"{Include} fastcgi_param REMOTE_USER $remote_user; fastcgi_param AUTH_TYPE Basic;")],
            Services = static builder => builder.Services.AddAuthentication("FastCgi").AddFastCgi(),
            Application = static app =>
            {
                app.UseAuthentication();
                app.MapFallback(static (HttpContext context) => context.User.Identity!.Name ?? "nobody");
            },
            Visit = AskAsync(
                static request => request.Headers.Authorization = new AuthenticationHeaderValue(
                    "Basic", "YW5uOnNlY3JldA==")),
            Event = ("UserNotTaken", "fastcgi_param AUTH_TYPE Basic;"),
        };
    }

    private static Fault Authorization(FrontEndKind kind, string line, params (string, string)[] wrong)
        => new("Authorization is dropped", kind)
        {
            Wrong = wrong,
            Speedup = 3,
            Application = static app => app.MapFallback(static (HttpContext context) =>
            {
                context.Response.Headers.WWWAuthenticate = "Bearer";
                return context.Request.Headers.Authorization.Count > 0
                    ? Results.Text("reached")
                    : Results.Unauthorized();
            }),
            Visit = static async client =>
            {
                for (var i = 0; i < 3; i++)
                    await AskAsync(
                        static request => request.Headers.Authorization =
                            new AuthenticationHeaderValue("Bearer", "token"))(client);
            },
            Event = ("AuthorizationAbsent", line),
            Rule = ("authorization-dropped", line),
        };
}
