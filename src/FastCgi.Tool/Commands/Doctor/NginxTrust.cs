namespace FastCgi.Tool.Commands.Doctor;

/// <summary>What a client can forge, and what it gets of others.</summary>
internal static class NginxTrust
{
    private const RegexOptions IgnoreCase = RegexOptions.IgnoreCase;

    private static readonly string[] s_cookies =
        [".AspNetCore.Session=CfDJ8", ".AspNetCore.Cookies=CfDJ8", ".AspNetCore.Identity.Application=CfDJ8"];

    private static readonly string[] s_cookiesOfPhp = ["PHPSESSID=a1", "wordpress_logged_in_a1=a"];

    private static readonly Regex s_foreignCookie = new(
        "^cookie_(no_?(cache|store)|skip|bypass|lang|theme|currency|consent|php|wordpress|wp_|comment_author|"
        + "jsession|laravel|drupal|joomla|django|rails|connect)", IgnoreCase);

    private static readonly Regex s_static = new(
        @"css|\bjs\b|static|assets|images|/(public|lib|fonts|_framework|_content)\b");

    /// <summary>Finds the first of the networks that contain everybody.</summary>
    public static Directive? FindBalancer(NginxPlace place)
        => place.TrustsEverybody && !IsClosed(place) ? place.Balancers[0] : null;

    /// <summary>Finds parameters whose values clients choose, by their names.</summary>
    public static IEnumerable<Seen> FindChosen(NginxPlace place, Predicate<string> isWanted)
        => IsClosed(place) ? [] : place.Parameters.Select(static line => line.First ?? "").Distinct()
            .Where(name => Stranger.Trusts(name) && isWanted(name)).SelectMany(place.Effective)
            // The line that trusts everybody is reported.
            .Where(line => line.Arguments[1].Trim('{', '}', '$') != "remote_addr"
                && place.Values.Get(line.Arguments[1]).IsOfClient)
            // A header decides which requests get the constant.
            .Concat(isWanted("HTTPS") && IsRedirectedByHeader(place) ? FindConstants(place) : [])
            .Select(static line => Stranger.See(line, line.First!));

    /// <summary>Finds constants that claim https for requests that arrive over http.</summary>
    public static IEnumerable<Directive> FindConstantScheme(NginxPlace place)
        => IsClosed(place) || IsRedirectedByHeader(place) ? [] : FindConstants(place);

    private static bool IsRedirectedByHeader(NginxPlace place)
        => NginxReach.FindRefusal(place, ReadPlain, NginxReach.IsRedirect, Chance.Chosen) is not null;

    private static IEnumerable<Directive> FindConstants(NginxPlace place)
        => IsOnlyTls(place) || place.Get("ssl", "on") is not null || place.Balancers.Count > 0
            || NginxReach.FindRefusal(
                place, ReadPlain, static line => NginxReach.IsRefusal(line) || NginxReach.IsRedirect(line)) is not null
                ? []
                : place.Effective("HTTPS").Concat(place.Effective("REQUEST_SCHEME"))
                    .Where(line => place.Values.Get(line.Arguments[1]).Texts.IsSubsetOf(["on", "1", "https"]));

    private static bool IsOnlyTls(NginxPlace place) => place.Listens.Any() && place.Listens.All(NginxPlace.IsTls);

    /// <summary>The variables of a request that arrives over http.</summary>
    private static string? ReadPlain(string name) => name switch
    {
        "scheme" => "http",
        "https" => "",
        "server_port" => "80",
        _ => null,
    };

    /// <summary>Finds a cache that gives the page of one user to others.</summary>
    public static Directive? FindSharedCache(NginxPlace place)
    {
        if (!place.IsCached || s_static.IsMatch(string.Join(' ', place.Location))
            || (place.Get("fastcgi_cache_valid") is null && place.FindIgnored("Cache-Control") is null)
            || place.Set("HTTP_COOKIE", "") is not null)
            return null;

        var cookies = NginxReach.IsOfScripts(place) ? s_cookiesOfPhp : s_cookies;
        var knows = cookies.Any(cookie => KeepsApart(place, name => ReadCookie(name, cookie), ReadNoCookie))
            || KeepsApart(place, static name => name == "http_authorization" ? "Bearer CfDJ8" : null,
                static name => name == "http_authorization" ? "" : null);
        return knows ? null : place.Get("fastcgi_cache");
    }

    /// <summary>Finds the line by which a cached response gives the cookie of one user to others.</summary>
    public static Directive? FindCachedCookies(NginxPlace place) => place.IsCached
        && place.Pass.GetAll("fastcgi_hide_header").All(static hidden => !hidden.Is(hidden.Name, "Set-Cookie"))
            ? place.FindIgnored("Set-Cookie")
            : null;

    /// <summary>Whether one of two requests is not cached, or they have different keys.</summary>
    public static bool KeepsApart(NginxPlace place, Func<string, string?> known, Func<string, string?> other)
    {
        var (values, others) = (place.Read(known), place.Read(other));
        return (place.Get("fastcgi_no_cache")?.Arguments ?? [])
                .Any(text => values.Get(text).Texts.All(static text => NginxValues.IsTrue(text) == true))
            || (place.Get("fastcgi_cache_key")?.Arguments ?? [])
                .Any(text => !values.Get(text).Equals(others.Get(text)));
    }

    /// <summary>Whether no stranger reaches the place, because of its addresses or its lines.</summary>
    public static bool IsClosed(NginxPlace place)
    {
        if ((place.Listens.Any() && place.Listens.All(static listen => Stranger.IsLocal(listen.First ?? "")))
            || (IsOnlyTls(place) && place.Get("ssl_verify_client", "on") is not null))
            return true;
        var access = place.Pass.GetInnermost("allow", "deny");
        return (access.Any(static line => line.Is("deny", "all")) && !place.TrustsEverybody
                && place.Get("satisfy", "any") is null
                && !Stranger.AreEverybody(
                    access.Where(static line => line.Is("allow")).Select(static line => line.First ?? "")))
            || NginxReach.FindRefusal(place, static _ => null) is not null;
    }

    private static string? ReadCookie(string name, string cookie) => name switch
    {
        "http_cookie" => cookie,
        ['c', 'o', 'o', 'k', 'i', 'e', '_', ..] => s_foreignCookie.IsMatch(name) ? "" : "x",
        _ => null,
    };

    private static string? ReadNoCookie(string name) => ReadCookie(name, "") is null ? null : "";
}
