namespace FastCgi.Tool.Commands.Doctor;

internal static class NginxRules
{
    // A limit of this size means files.
    private const long LargeBody = 100L << 20;

    public static Rule<NginxPlace>[] All { get; } =
    [
        new("nginx.params-missing.disabled", static place
            => place is { LacksParameters: true, Disabled: { } outer, Parameters: [var first, ..] }
                ? new Seen(place.Where, $"{first.Line}", outer.Where)
                : null),
        new("nginx.params-missing.all", static place => place is { LacksParameters: true, Disabled: null }),
        new("nginx.target-missing", static place => place.Lacks("REQUEST_URI")),
        new("nginx.target-rewritten", static place => place.IsTargetRewritten ? place.Set("REQUEST_URI") : null),
        new("nginx.length-missing", static place => place.Lacks("CONTENT_LENGTH")),
        new("nginx.parameter-missing.type", static place => place.Lacks("CONTENT_TYPE")),
        new("nginx.parameter-missing.address", static place => place.Lacks("REMOTE_ADDR")),
        new("nginx.parameter-missing.query", static place => place.Lacks("QUERY_STRING")),
        // nginx sends the last value that is not empty; if all are empty, not even the client's header.
        new("nginx.host-missing", static place => place.GetParameter("HTTP_HOST").All(static value => value.Length == 0)
            ? place.Set("HTTP_HOST")
            : null),
        new("nginx.host-port", FindHostsWithoutPort),
        new("nginx.scheme-missing", static place => place.IsWhole && !place.LacksParameters && !place.PassesScheme
            && place.Tls is { } tls ? new Seen(place.Where, tls.Where) : null),
        new("nginx.scheme-behind-balancer", FindTrustedBalancer),
        new("nginx.authorization-dropped.headers", static place => place.Get("fastcgi_pass_request_headers", "off")),
        new("nginx.authorization-dropped.value", static place => place.Set("HTTP_AUTHORIZATION", "")),
        // nginx passes the name of any Authorization header, checked or not.
        new("nginx.user-unverified.unchecked", static place
            => !place.ChecksUsers && place.Set("AUTH_TYPE") is { Arguments: [_, not ("" or ['$', ..]), ..] } type
                ? type
                : null),
        new("nginx.user-unverified.unused", static place
            => place.Set("AUTH_TYPE") is null && place.GetParameter("REMOTE_USER").Any()
                ? place.GetUnless("auth_basic", "off")
                : null),
        new("nginx.auth-request.url", static place => FindGuard(place, "REQUEST_URI", "$request_uri")),
        new("nginx.auth-request.method", static place => FindGuard(place, "REQUEST_METHOD", "$request_method")),
        new("nginx.body-dropped", static place => place.IsGuard ? null : place.Get("fastcgi_pass_request_body", "off")),
        new("nginx.errors-replaced", static place => place.Pass.GetAll("error_page").Any()
            ? place.Get("fastcgi_intercept_errors", "on")
            : null),
        new("nginx.error-page.refused", static place => FindErrorPages(place, isRefused: true)),
        new("nginx.error-page.other", static place => FindErrorPages(place, isRefused: false)),
        new("nginx.rewrite-unseen", static place => place.PassesOriginal("REQUEST_URI", "$request_uri")
            ? place.InServer("rewrite").FirstOrDefault(IsInternal)
            : null),
        new("nginx.cache-cookies", static place => place.IsCached
            && place.Pass.GetAll("fastcgi_hide_header").All(static hidden => !hidden.Is(hidden.Name, "Set-Cookie"))
                ? FindIgnored(place, "Set-Cookie")
                : null),
        new("nginx.cache-head.key", static place => place.IsCached && !place.AreMethodsCachedApart
            ? place.Get("fastcgi_cache_key")
            : null),
        new("nginx.cache-head.default", static place => place.IsCached && place.HasDefault("fastcgi_cache_key")),
        new("nginx.try-files", static place => place.IsForScripts
            ? null
            : place.Own.FirstOrDefault(static inner => inner is { Name: "try_files", Arguments: [.., ['=', ..]] })),
        new("nginx.only-root", static place => place.Location is ["=", "/"] && place.Passes == 1),
        new("nginx.path-base.always", static place => place.Prefix == "/" && place.PathBase is ['/', _, ..] value
            ? new Seen(place.Set("PATH_BASE")!.Where, value, value.TrimEnd('/'))
            : null),
        new("nginx.path-base.missing", static place => place.IsWhole && place.PathBase is null
            && place.Get("fastcgi_split_path_info") is null && !place.IsPartOfApplication && place.IsBelowRoot
            && place.InServer("try_files").All(files => files.Arguments.LastOrDefault() != place.Prefix)),
        new("nginx.path-base.other", static place => place.IsBelowRoot && place.PathBase is [not '$', ..] value
            && !Place.IsBelow(place.Base, value) ? place.Set("PATH_BASE") : null),
        new("nginx.head-buffer.set", static place
            => place.HeadBuffer.Size <= 4096 ? place.Get("fastcgi_buffer_size") : null),
        new("nginx.head-buffer.default", static place => place.HasDefault("fastcgi_buffer_size")),
        new("nginx.body-size.set", static place => place.BodyLimit is > 0 and < Place.UsualBody
            ? place.Get("client_max_body_size")
            : null),
        new("nginx.body-size.default", static place => !place.IsGuard && place.HasDefault("client_max_body_size")),
        new("nginx.upload-held", static place => place.BodyLimit is 0 or >= LargeBody
            && place.Get("fastcgi_request_buffering", "off") is null ? place.Get("client_max_body_size") : null),
        new("nginx.read-timeout.set", static place => place.ReadTimeout < Place.LongestPoll
            ? place.Get("fastcgi_read_timeout")
            : null),
        new("nginx.read-timeout.default", static place => !place.IsGuard && place.HasDefault("fastcgi_read_timeout")),
        new("nginx.streaming-held", static place => place.Get("fastcgi_buffering", "off") is null
            ? FindIgnored(place, "X-Accel-Buffering")
            : null),
        new("nginx.proxy-directive", NginxLeftovers.Find),
        new("nginx.underscores.trusted", static place => place.SetsHeaders ? FindUnderscores(place) : null),
        new("nginx.underscores.other", static place => place.SetsHeaders ? null : FindUnderscores(place)),
        new("nginx.keep-conn-missing", static place => place.IsWhole && place.Get("fastcgi_keep_conn", "on") is null
            ? place.Keepalive
            : null),
        new("nginx.keepalive-missing", static place => place.IsWhole && place.Keepalive is null
            ? place.Get("fastcgi_keep_conn", "on")
            : null),
        new("nginx.tls-missing", static place => place.Get("ssl", "on") is null
            ? place.Listens.Where(static listen => GetPort(listen) == 443 && !NginxPlace.IsTls(listen))
            : []),
        new("nginx.duplicate-server", static place => place.FindDuplicate()),
    ];

    /// <summary>Finds what lets a client's names with underscores through, and the line that does not.</summary>
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
        var text = listen.First ?? "";
        if (text.StartsWith("unix:", StringComparison.Ordinal))
            return 0;
        return int.TryParse(text[(text.LastIndexOf(':') + 1)..], CultureInfo.InvariantCulture, out var port)
            ? port
            : 80;
    }

    private static IEnumerable<Seen> FindHostsWithoutPort(NginxPlace place)
    {
        var host = place.GetParameter("HTTP_HOST").LastOrDefault(static value => value.Length > 0);
        if (host is not ("$host" or "$server_name") || place.Set("SERVER_PORT", "443") is not null)
            return [];

        return place.Listens.Where(static listen => GetPort(listen) is not (80 or 443 or 0))
            .Select(listen => new Seen(listen.Where, $"{GetPort(listen)}", host));
    }

    private static Seen? FindTrustedBalancer(NginxPlace place)
    {
        if (place.LacksParameters || place.Tls is not null
            || place.Pass.GetAll("set_real_ip_from").FirstOrDefault() is not { } balancer
            || place.GetParameter("HTTPS").Any(static value => value != "$https")
            || place.GetParameter("REQUEST_SCHEME").Any(static value => value != "$scheme"))
            return null;
        return new(place.Where, balancer.Where);
    }

    private static Seen? FindGuard(NginxPlace place, string parameter, string original)
        => place.Guarded is { } guarded && place.PassesOriginal(parameter, original)
            ? new(place.Where, guarded.Text, guarded.Where)
            : null;

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    private static IEnumerable<Directive> FindErrorPages(NginxPlace place, bool isRefused)
        => !place.PassesOriginal("REQUEST_URI", "$request_uri") ? [] : place.InServer("error_page")
            .Where(page => page.Arguments.Length > 1 && isRefused == IsForRefused(page)
                && place.Serves(page.Arguments[^1])
                // A named location usually serves the requests that match no file.
                && (isRefused || page.Arguments[^1][0] != '@'));

    private static bool IsForRefused(Directive page)
        => page.Arguments.Contains("401") || page.Arguments.Contains("403");

    /// <summary>Whether a <c>rewrite</c> changes the URL without redirecting the client.</summary>
    private static bool IsInternal(Directive rewrite) => rewrite.Arguments is [_, ['/', ..] or ['$', not 's', ..], ..]
        && rewrite.Arguments[^1] is not ("redirect" or "permanent");

    private static Directive? FindIgnored(NginxPlace place, string header)
        => place.Get("fastcgi_ignore_headers") is { } ignored
            && ignored.Arguments.Contains(header, StringComparer.OrdinalIgnoreCase) ? ignored : null;
}
