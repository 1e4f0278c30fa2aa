namespace FastCgi.Tool.Commands.Doctor;

internal static class NginxRules
{
    // A limit of this size indicates uploads of files.
    private const long LargeBody = 100L << 20;

    private static readonly string[] s_checks = ["auth_basic", "auth_request", "auth_jwt"];

    public static Rule<NginxPlace>[] All { get; } =
    [
        new("nginx.params-missing.disabled", place => place is { LacksParameters: true, Disabled: not null },
            place => new Seen(place.Where, $"{place.Parameters[0].Line}", place.Disabled!.Where)),
        new("nginx.params-missing.all", place => place is { LacksParameters: true, Disabled: null }),
        new("nginx.target-missing", place => place.Lacks("REQUEST_URI")),
        new("nginx.target-rewritten", place => place.FindRewrittenTarget()),
        new("nginx.length-missing", place => place.Lacks("CONTENT_LENGTH")),
        new("nginx.parameter-missing.type", place => place.Lacks("CONTENT_TYPE")),
        new("nginx.parameter-missing.address", place => place.Lacks("REMOTE_ADDR")),
        new("nginx.parameter-missing.query", place => place.Lacks("QUERY_STRING")),
        // nginx sends the last value that is not empty; if all are empty, not even the client's header.
        new("nginx.host-missing", place => place.GetParameter("HTTP_HOST").All(string.IsNullOrEmpty),
            place => place.Set("HTTP_HOST")),
        // Over HTTP/3, the host is in a pseudo-header, which neither $http_host nor the headers contain.
        new("nginx.host-missing.quic", place => place is { IsWhole: true, LacksParameters: false }
            && place.GetUnless("http3", "off") == place.Get("http3")
            && place.GetParameter("HTTP_HOST").All(static value => value.Trim('$', '{', '}') is "" or "http_host"),
            place => place.Listens.FirstOrDefault(static listen => listen.Arguments.Contains("quic"))),
        new("nginx.host-port", FindHostsWithoutPort),
        new("nginx.scheme-missing", place => place.Lacks("HTTPS") && place.Lacks("REQUEST_SCHEME"),
            place => place.Tls is { } tls ? new Seen(place.Where, tls.Where) : null),
        new("nginx.scheme-constant", NginxTrust.FindConstantScheme),
        new("nginx.scheme-behind-balancer", FindTrustedBalancer),
        new("nginx.client-chosen.balancer", NginxTrust.FindBalancer),
        new("nginx.client-chosen.address",
            place => NginxTrust.FindChosen(place, static name => name is "REMOTE_ADDR" or "REMOTE_PORT")),
        new("nginx.client-chosen.scheme",
            place => NginxTrust.FindChosen(place, static name => name is "HTTPS" or "REQUEST_SCHEME")),
        new("nginx.client-chosen.other", place => NginxTrust.FindChosen(place, static name
            => name is not ("REMOTE_ADDR" or "REMOTE_PORT" or "HTTPS" or "REQUEST_SCHEME"))),
        new("nginx.authorization-dropped.headers", place => place.Get("fastcgi_pass_request_headers", "off")),
        new("nginx.authorization-dropped.value", place => place.Set("HTTP_AUTHORIZATION", "")),
        // nginx passes the name of any Authorization header, checked or not.
        new("nginx.user-unverified.unchecked", place
            => place.Set("AUTH_TYPE")?.Arguments[1] is not (null or "" or ['$', ..])
                && s_checks.All(check => place.GetUnless(check, "off") is null)
                && place.Get("ssl_verify_client", "on") is null, place => place.Set("AUTH_TYPE")),
        new("nginx.user-unverified.unused", place
            => place.Set("AUTH_TYPE") is null && place.Set("REMOTE_USER") is not null,
            place => place.GetUnless("auth_basic", "off")),
        new("nginx.auth-request.url", place => FindGuard(place, "REQUEST_URI", "request_uri")),
        new("nginx.auth-request.method", place => FindGuard(place, "REQUEST_METHOD", "request_method")),
        new("nginx.body-dropped", place => !place.IsGuard, place => place.Get("fastcgi_pass_request_body", "off")),
        new("nginx.errors-replaced", place => place.Pass.GetAll("error_page").Any(),
            place => place.Get("fastcgi_intercept_errors", "on")),
        new("nginx.error-page.refused", place => FindErrorPages(place, isRefused: true)),
        new("nginx.error-page.other", place => FindErrorPages(place, isRefused: false)),
        new("nginx.rewrite-unseen", place => place.PassesOriginal("REQUEST_URI", "request_uri"),
            place => place.InServer("rewrite").FirstOrDefault(IsInternal)),
        new("nginx.cache-cookies", place => place.IsCached
            && place.Pass.GetAll("fastcgi_hide_header").All(hidden => !hidden.Is(hidden.Name, "Set-Cookie")),
            place => place.FindIgnored("Set-Cookie")),
        new("nginx.cache-shared", NginxTrust.FindSharedCache),
        new("nginx.cache-head.key", place => place.IsCached && place.Set("REQUEST_METHOD", "GET") is null
            && !NginxTrust.KeepsApart(place, name => ReadMethod(name, "HEAD"), name => ReadMethod(name, "GET")),
            place => place.Get("fastcgi_cache_key")),
        new("nginx.cache-head.default", place => place.IsCached && place.HasDefault("fastcgi_cache_key")),
        new("nginx.try-files", place => !NginxReach.IsOfScripts(place),
            place => place.Pass.Parent!.Block.Find(line => line is { Name: "try_files", Arguments: [.., ['=', ..]] })),
        new("nginx.front-page", NginxReach.FindFolder),
        new("nginx.static-files.absent", place => NginxReach.FindTakenFiles(place, hasRoot: false)),
        new("nginx.static-files.folder", place => NginxReach.FindTakenFiles(place, hasRoot: true)),
        new("nginx.refused.method", NginxReach.FindRefusedMethods),
        new("nginx.refused.path", NginxReach.FindRefusedPath),
        new("nginx.cookies-hidden", place => !place.IsCached, place => place.Pass.Around
            .Select(static block => block.Block.FindAll(static line => line.Is("fastcgi_hide_header")))
            .FirstOrDefault(static lines => lines.Count > 0)?.Find(static line => line.Is(line.Name, "Set-Cookie"))),
        new("nginx.posts-repeated", place => place.Get("fastcgi_next_upstream") is { } line
            && line.Arguments.Contains("non_idempotent") && place.Targets.Take(2).Count() > 1 ? line : null),
        new("nginx.only-root", place => place.Location is ["=", "/"]
            && place.Pass.FindAround("server")?.All.Count(NginxPlace.IsPass) == 1),
        new("nginx.path-base.always", place => place is { Prefix: "/", PathBase: ['/', _, ..] },
            place => new Seen(place.Set("PATH_BASE")!.Where, place.PathBase!, place.PathBase!.TrimEnd('/'))),
        new("nginx.path-base.missing", place => place.IsWhole && place.PathBase is null
            && place.Get("fastcgi_split_path_info") is null && !place.IsPartOfApplication && place.IsBelowRoot
            && place.InServer("try_files").All(files => files.Arguments.LastOrDefault() != place.Prefix)),
        new("nginx.path-base.other", place => place is { IsBelowRoot: true, PathBase: [not '$', ..] value }
            && !Place.IsBelow(place.Base, value), place => place.Set("PATH_BASE")),
        new("nginx.head-buffer.set", place => place.HeadBuffer.Size <= 4096, place => place.Get("fastcgi_buffer_size")),
        new("nginx.head-buffer.default", place => place.HasDefault("fastcgi_buffer_size")),
        new("nginx.body-size.set", place => place.BodyLimit is > 0 and < Place.UsualBody,
            place => place.Get("client_max_body_size")),
        new("nginx.body-size.default", place => !place.IsGuard && place.HasDefault("client_max_body_size")),
        new("nginx.upload-held", place => place.BodyLimit is 0 or >= LargeBody
            && place.Get("fastcgi_request_buffering", "off") is null,
            place => place.Get("client_max_body_size")),
        new("nginx.read-timeout.set", place => place.ReadTimeout < Place.LongestPoll,
            place => place.Get("fastcgi_read_timeout")),
        new("nginx.read-timeout.default", place => !place.IsGuard && place.HasDefault("fastcgi_read_timeout")),
        new("nginx.streaming-held", place => place.Get("fastcgi_buffering", "off") is null,
            place => place.FindIgnored("X-Accel-Buffering")),
        new("nginx.proxy-directive", NginxLeftovers.Find),
        new("nginx.underscores.trusted", place => place.SetsHeaders, FindUnderscores),
        new("nginx.underscores.other", place => !place.SetsHeaders, FindUnderscores),
        new("nginx.keep-conn-missing", place => place.IsWhole && place.Get("fastcgi_keep_conn", "on") is null,
            place => place.Keepalive is { First: not "0" } line ? line : null),
        new("nginx.keepalive-missing.address", place => place is { IsWhole: true, HasUpstream: false },
            place => place.Get("fastcgi_keep_conn", "on")),
        new("nginx.keepalive-missing.upstream", place => place is { IsWhole: true, HasUpstream: true, Keepalive: null },
            place => place.Get("fastcgi_keep_conn", "on")),
        new("nginx.keepalive-missing.off", place => place.Get("fastcgi_keep_conn", "on") is not null,
            place => place.Keepalive is { First: "0" } line ? line : null),
        new("nginx.tls-missing", place => place.Listens.Where(listen => GetPort(listen) == 443
            && !NginxPlace.IsTls(listen) && place.Get("ssl", "on") is null)),
        new("nginx.duplicate-server", place => place.FindDuplicate()),
    ];

    /// <summary>Finds the line that passes headers with underscores, and the line that drops them.</summary>
    private static Seen? FindUnderscores(NginxPlace place)
    {
        if (place.Get("underscores_in_headers", "on") is { } line)
            return new(line.Where, line.Text, "underscores_in_headers off;");
        return place.Get("ignore_invalid_headers", "off") is { } invalid
            ? new(invalid.Where, invalid.Text, "ignore_invalid_headers on;")
            : null;
    }

    /// <returns>0 for a socket.</returns>
    private static int GetPort(Directive listen)
    {
        var end = (listen.First ?? "").Split(':');
        if (end is ["unix", _, ..])
            return 0;
        return int.TryParse(end[^1], CultureInfo.InvariantCulture, out var port) ? port : 80;
    }

    private static IEnumerable<Seen> FindHostsWithoutPort(NginxPlace place)
    {
        var host = place.GetParameter("HTTP_HOST").LastOrDefault(value => value.Length > 0);
        if (host is not ("$host" or "$server_name") || place.Set("SERVER_PORT", "443") is not null)
            return [];

        return place.Listens.Where(listen => GetPort(listen) is not (80 or 443 or 0))
            .Select(listen => new Seen(listen.Where, $"{GetPort(listen)}", host));
    }

    private static Seen? FindTrustedBalancer(NginxPlace place)
    {
        if (place.LacksParameters || place.Tls is not null
            || place.Pass.GetAll("set_real_ip_from").FirstOrDefault() is not { } balancer
            || place.GetParameter("HTTPS").Any(value => value != "$https")
            || place.GetParameter("REQUEST_SCHEME").Any(value => value != "$scheme"))
            return null;
        return new(place.Where, balancer.Where);
    }

    private static Seen? FindGuard(NginxPlace place, string parameter, string original)
        => place.Guarded is { } guarded && place.PassesOriginal(parameter, original)
            ? new(place.Where, guarded.Text, guarded.Where)
            : null;

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    private static IEnumerable<Directive> FindErrorPages(NginxPlace place, bool isRefused)
        => !place.PassesOriginal("REQUEST_URI", "request_uri") ? [] : place.InServer("error_page")
            .Where(page => page.Arguments.Length > 1 && isRefused == page.Arguments.Intersect(["401", "403"]).Any()
                && place.Serves(page.Arguments[^1])
                // A named location usually serves the requests that match no file.
                && (isRefused || page.Arguments[^1][0] != '@'));

    /// <summary>Whether a <c>rewrite</c> changes the URL without redirecting the client.</summary>
    private static bool IsInternal(Directive rewrite) => rewrite.Arguments is [_, ['/', ..] or ['$', not 's', ..], ..]
        && rewrite.Arguments[^1] is not ("redirect" or "permanent");

    /// <summary>The variables of a request with a certain method.</summary>
    public static string? ReadMethod(string name, string method) => name switch
    {
        "request_method" => method,
        "request" => method + " /",
        _ => null,
    };
}
