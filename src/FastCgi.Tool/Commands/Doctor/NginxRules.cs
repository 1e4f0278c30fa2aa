using System.Globalization;
using static FastCgi.Tool.Commands.Doctor.DoctorFinding;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The rules for a block with <c>fastcgi_pass</c>.</summary>
internal static class NginxRules
{
    private const string Page = "front-ends/nginx.md";

    // Such a limit means files.
    private const long LargeBody = 100L << 20;

    public static readonly Rule<NginxPlace>[] All =
    [
        .. Parameters(),
        .. Requests(),
        .. Limits(),
        .. Servers(),
    ];

    private static Rule<NginxPlace>[] Parameters() =>
    [
        new("params-missing", Problem, static place => !place.LacksParameters ? [] : [new(place.Pass.Where, DescribeMissing(place))],
            "the application answers 400, 'REQUEST_METHOD is missing or empty'", "include fastcgi_params;", "#400-bad-request"),
        new("target-missing", Problem, static place => place.Missing("REQUEST_URI"),
            "the application takes each request for /", "fastcgi_param REQUEST_URI $request_uri;", "#400-bad-request"),
        new("target-rewritten", Problem, static place => place.Set("REQUEST_URI") is { Arguments: [_, var value, ..] } set
            && value is "$uri" or "$document_uri" ? [new(set.Where, set.Text)] : [],
            "queries are lost, and escaped characters in paths are decoded", "fastcgi_param REQUEST_URI $request_uri;", "#404-not-found"),
        new("length-missing", Problem, static place => place.Missing("CONTENT_LENGTH"),
            "the application sees no request body", "fastcgi_param CONTENT_LENGTH $content_length;", "#empty-body"),
        new("parameter-missing", Problem, static place => place.Missing("CONTENT_TYPE"),
            "the application answers 415 to forms and JSON", "fastcgi_param CONTENT_TYPE $content_type;", "#400-bad-request"),
        new("parameter-missing", Problem, static place => place.Missing("REMOTE_ADDR"),
            "the application does not know the client's address", "fastcgi_param REMOTE_ADDR $remote_addr;",
                "identity.md#what-the-application-knows-about-a-client"),
        new("parameter-missing", Note, static place => place.Missing("QUERY_STRING"),
            "applications other than those of FastCgi.AspNetCore see no query", "fastcgi_param QUERY_STRING $query_string;", "#400-bad-request"),
        // nginx sends the last value that is not empty; if all are empty, not even the client's header.
        new("host-missing", Problem, static place => place.Set("HTTP_HOST") is { } set
            && place.GetParameter("HTTP_HOST").All(static value => value.Length == 0) ? [new(set.Where, set.Text)] : [],
            "the application does not know which host clients ask for", "fastcgi_param HTTP_HOST $host:$server_port;", "#redirects-to-another-port"),
        new("host-port", Problem, FindHostsWithoutPort,
            "redirects and links lack the port", "fastcgi_param HTTP_HOST $host:$server_port;", "#redirects-to-another-port"),
        new("scheme-missing", Problem,
            static place => place.Tls is { } tls && !place.LacksParameters
                && place.GetParameter("HTTPS").Count + place.GetParameter("REQUEST_SCHEME").Count == 0
                ? [new(place.Pass.Where, $"{tls.Where} listens for TLS, and neither HTTPS nor REQUEST_SCHEME is passed")]
                : [],
            "the application takes each request for http: links with http, too many redirects", "fastcgi_param HTTPS $https if_not_empty;", "#redirect-loop"),
        new("scheme-behind-balancer", Problem,
            static place => !place.LacksParameters && place.Tls is null && place.GetAll("set_real_ip_from").FirstOrDefault() is { } balancer
                && place.GetParameter("HTTPS").All(static value => value == "$https")
                    && place.GetParameter("REQUEST_SCHEME").All(static value => value == "$scheme")
                ? [new(place.Pass.Where, $"a load balancer is trusted ({balancer.Where}), but HTTPS and REQUEST_SCHEME describe its connection")]
                : [],
            "if it ends TLS, the application takes each request for http: too many redirects", "fastcgi_param HTTPS $forwarded_https if_not_empty;",
            Page + "#behind-a-load-balancer"),
        new("authorization-dropped", Problem, static place => place.IfSet("fastcgi_pass_request_headers", "off"),
            "the application sees no headers, and no Authorization: 401", "fastcgi_pass_request_headers on;", "#401-unauthorized"),
        new("authorization-dropped", Problem, static place => place.Set("HTTP_AUTHORIZATION") is { Arguments: [_, "", ..] } set
            ? [new(set.Where, set.Text)] : [],
            "the application sees no Authorization: 401", "fastcgi_param HTTP_AUTHORIZATION $http_authorization;", "#401-unauthorized"),
        // nginx passes the name of any Authorization header, checked or not.
        new("user-unverified", Problem,
            static place => place.Set("AUTH_TYPE") is { Arguments: [_, not ("" or ['$', ..]), ..] } set && !place.ChecksUsers
                ? [new(set.Where, "AUTH_TYPE is passed, and no directive checks the user")] : [],
            "with AddFastCgi(), any client can be any user", "auth_basic \"Members\";\nauth_basic_user_file /etc/nginx/members;", "identity.md#the-user"),
        new("user-unverified", Note,
            static place => place.Get("auth_basic") is { First: not "off" } basic && place.Set("AUTH_TYPE") is null
                && place.GetParameter("REMOTE_USER").Count > 0
                ? [new(basic.Where, "auth_basic, and no AUTH_TYPE is passed")]
                : [],
            "an application with AddFastCgi() ignores the user: 401", "fastcgi_param AUTH_TYPE Basic;", "identity.md#the-user"),
    ];

    private static Rule<NginxPlace>[] Requests() =>
    [
        new("body-dropped", Problem, static place => place.IfSet("fastcgi_pass_request_body", "off"),
            "the application sees no request body", "fastcgi_pass_request_body on;", "#empty-body"),
        new("errors-replaced", Note, static place => place.GetAll("error_page").Any() ? place.IfSet("fastcgi_intercept_errors", "on") : [],
            "nginx's pages replace error responses of the application, also those of an API", "fastcgi_intercept_errors off;", "#empty-body"),
        new("cache-cookies", Problem,
            static place => place.Get("fastcgi_cache") is { First: not "off" } && place.Get("fastcgi_ignore_headers") is { } ignored
                && ignored.Arguments.Contains("Set-Cookie")
                && !place.GetAll("fastcgi_hide_header").Any(static hidden => hidden.First == "Set-Cookie")
                ? [new(ignored.Where, "fastcgi_cache, and Set-Cookie is ignored")]
                : [],
            "a cached response hands one user's cookie to all others", "fastcgi_ignore_headers Cache-Control Expires;", Page + "#full-configuration"),
        new("try-files", Problem,
            static place => !place.IsForScripts && place.Own
                .FirstOrDefault(static directive => directive is { Name: "try_files", Arguments: [.., ['=', ..]] }) is { } files
                ? [new(files.Where, files.Text)]
                : [],
            "nginx answers 404 to every path that is not a file", "# remove try_files, or: try_files $uri @app;", "#404-not-found"),
        new("only-root", Problem,
            static place => place.Location is ["=", "/"] && place.Passes == 1
                ? [new(place.Pass.Where, "only location = / passes requests to the application")] : [],
            "every other path is a 404, or a file of nginx", "location / {", "#404-not-found"),
        new("path-base", Note,
            static place => place.Prefix == "/" && place.PathBase is ['/', _, ..] value
                ? [new(place.Set("PATH_BASE")!.Where, $"location / passes PATH_BASE {value} with each request", CreateLocation(place, value))] : [],
            "paths that do not begin with it are a 404", "", "#404-not-found"),
        new("path-base", Note,
            static place => place.PathBase is null && place.Get("fastcgi_split_path_info") is null && place.Prefix?.TrimEnd('/') is ['/', ..] path
                ? [new(place.Pass.Where, $"location {place.Prefix} passes no PATH_BASE", $"fastcgi_param PATH_BASE {path};",
                    $"the application sees paths that begin with {path}: 404, unless it expects them")]
                : [],
            "", "", "#404-not-found"),
        new("path-base", Problem, FindOtherPathBase,
            "the path base does not match the location: 404", "", "#404-not-found"),
    ];

    private static Rule<NginxPlace>[] Limits() =>
    [
        new("head-buffer", Note, static place => place.Get("fastcgi_buffer_size") is { } size && place.GetSize("fastcgi_buffer_size", 4096) <= 4096
            ? [new(size.Where, size.Text)] : [],
            "larger response headers, such as login cookies, are a 502", HeadBuffer.NginxLine, "#response-headers-that-are-too-large"),
        new("head-buffer", Fact, static place => place.Get("fastcgi_buffer_size") is null
            ? [new(place.Pass.Where, "fastcgi_buffer_size is 4k, the default")] : [],
            "larger response headers, such as login cookies, are a 502", "fastcgi_buffer_size 16k; fastcgi_buffers 8 16k;", ""),
        new("body-size", Note, static place => place.Get("client_max_body_size") is { } size
            && place.GetSize("client_max_body_size", 0) is > 0 and < UsualLimits.Body ? [new(size.Where, size.Text)] : [],
            "larger uploads are a 413, although the application accepts 30,000,000 bytes", "client_max_body_size 30m;", "#413-content-too-large"),
        new("body-size", Fact, static place => place.Get("client_max_body_size") is null
            ? [new(place.Pass.Where, "client_max_body_size is 1m, the default")] : [],
            "larger uploads are a 413", "client_max_body_size 30m;", ""),
        new("upload-held", Note,
            static place => place.Get("client_max_body_size") is { } size && place.GetSize("client_max_body_size", 0) is 0 or >= LargeBody
                && place.Get("fastcgi_request_buffering")?.First != "off"
                ? [new(size.Where, $"{size.Text} and fastcgi_request_buffering on")]
                : [],
            "nginx writes an upload to its disk before the application sees any of it", "fastcgi_request_buffering off;", Page + "#full-configuration"),
        new("read-timeout", Note,
            static place => place.GetSeconds("fastcgi_read_timeout", 60) >= UsualLimits.LongestPoll
                ? []
                : [new((place.Get("fastcgi_read_timeout") ?? place.Pass).Where,
                    place.Get("fastcgi_read_timeout")?.Text ?? "fastcgi_read_timeout is 60s, the default")],
            UsualLimits.ShortTimeout, "fastcgi_read_timeout 120s;", "#504-gateway-timeout"),
        new("streaming-held", Problem,
            static place => place.Get("fastcgi_ignore_headers") is { } ignored && ignored.Arguments.Contains("X-Accel-Buffering")
                && place.Get("fastcgi_buffering")?.First != "off"
                ? [new(ignored.Where, "X-Accel-Buffering is ignored, and fastcgi_buffering is on")]
                : [],
            "server-sent events come late, or all at the end", "fastcgi_buffering off;", "#late-events"),
        new("proxy-directive", Note,
            static place => place.Own.Where(static directive => directive.Name.StartsWith("proxy_", StringComparison.Ordinal)
                && directive is { Name: not "proxy_pass", First: not null })
                .Select(static proxy => new Seen(proxy.Where, $"{proxy.Name} with fastcgi_pass", Translate(proxy))),
            "it applies only to proxy_pass, and does nothing here", "", Page + "#full-configuration"),
        new("keep-conn-missing", Problem,
            static place => place.Keepalive is { } keepalive && place.Get("fastcgi_keep_conn")?.First != "on"
                ? [new(keepalive.Where, $"keepalive {keepalive.First}, and no 'fastcgi_keep_conn on;' at {place.Pass.Where}")] : [],
            "no connection is kept: each request opens one", "fastcgi_keep_conn on;", Page + "#full-configuration"),
        new("keepalive-missing", Note,
            static place => place.Keepalive is null && place.Get("fastcgi_keep_conn") is { First: "on" } keeps
                ? [new(keeps.Where, "fastcgi_keep_conn on, and no 'keepalive' in an upstream")] : [],
            "no connection is kept: each request opens one", "keepalive 16;", Page + "#full-configuration"),
    ];

    private static Rule<NginxPlace>[] Servers() =>
    [
        new("tls-missing", Problem,
            static place => place.GetAll("listen").Where(listen => NginxPlace.GetPort(listen) == 443 && !NginxPlace.IsTls(listen)
                && place.Get("ssl")?.First != "on")
                .Select(static listen => new Seen(listen.Where, $"{listen.Text}, without ssl", $"listen {listen.First} ssl;")),
            "nginx answers 400 to https: 'The plain HTTP request was sent to HTTPS port', or browsers report a protocol error", "",
                Page + "#full-configuration"),
        new("duplicate-server", Problem,
            static place => place.FindDuplicate() is var (name, other)
                ? [new(place.Server!.Where, $"server_name {name} is also in {other.Where}, for the same port")] : [],
            "nginx ignores the later one of the two", "# remove one of them, or change its server_name", "#404-not-found"),
    ];

    private static string DescribeMissing(NginxPlace place) => place.Parameters.Count > 0 && place.Disabled is { } off
        ? $"the fastcgi_param in line {place.Parameters[0].Line} disables those inherited from {off.Where}"
        : "there is no 'include fastcgi_params;', and no REQUEST_METHOD";

    private static IEnumerable<Seen> FindHostsWithoutPort(NginxPlace place)
    {
        var host = place.GetParameter("HTTP_HOST").LastOrDefault(static value => value.Length > 0);
        if (host is not ("$host" or "$server_name") || place.Set("SERVER_PORT") is { Arguments: [_, "443", ..] })
            return [];

        return place.GetAll("listen").Where(static listen => NginxPlace.GetPort(listen) is not (80 or 443 or 0))
            .Select(listen => new Seen(listen.Where, $"clients use port {NginxPlace.GetPort(listen)}, and HTTP_HOST is {host}, without a port"));
    }

    private static IEnumerable<Seen> FindOtherPathBase(NginxPlace place)
    {
        if (place.Prefix?.TrimEnd('/') is not ['/', ..] path || place.PathBase is not [not '$', ..] value
            || (path + "/").StartsWith(value.TrimEnd('/') + "/", StringComparison.Ordinal))
            return [];
        return [new(place.Set("PATH_BASE")!.Where, $"location {place.Prefix} passes PATH_BASE {value}", $"fastcgi_param PATH_BASE {path};")];
    }

    private static string CreateLocation(NginxPlace place, string value)
        => $"location {value.TrimEnd('/')}/ {{\n    include fastcgi_params;\n    fastcgi_param PATH_BASE {value.TrimEnd('/')};\n    fastcgi_pass {place.Pass.First};\n}}";

    private static string Translate(NginxDirective proxy) => proxy is { Name: "proxy_set_header", Arguments: [var header, var value] }
        ? $"fastcgi_param HTTP_{header.ToUpperInvariant().Replace('-', '_')} {value};"
        : string.Create(CultureInfo.InvariantCulture, $"fastcgi_{proxy.Name["proxy_".Length..]} {string.Join(' ', proxy.Arguments)};");
}
