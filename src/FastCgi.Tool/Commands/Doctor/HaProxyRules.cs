using System.Globalization;
using static FastCgi.Tool.Commands.Doctor.DoctorFinding;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The rules for a backend of HAProxy that passes requests to FastCGI.</summary>
internal static class HaProxyRules
{
    private const string Page = "front-ends/haproxy.md";

    public static readonly Rule<HaProxyPlace>[] All =
    [
        new("app-unknown", Problem,
            static place => place.Application is null ? [new(place.Where, place.ApplicationName is { } name ? $"there is no 'fcgi-app {name}'"
                : $"{place.Name} has no use-fcgi-app")] : [],
            "HAProxy does not start", "fcgi-app hello\n    docroot /\n    pass-header Authorization\n\n# in the backend:\nuse-fcgi-app hello",
                Page + "#smallest-configuration"),
        new("docroot-missing", Problem, static place => place.Application is { } app && app.Get("docroot") is null
            ? [new(app.Where, $"fcgi-app {app.Name} has no docroot")] : [],
            "HAProxy does not start", "docroot /", Page + "#smallest-configuration"),
        new("authorization-dropped", Problem,
            static place => place.Application is { } app && app.Get("pass-header", "Authorization") is null
                ? [new(app.Where, $"fcgi-app {app.Name} has no 'pass-header Authorization'")] : [],
            "the application never sees Authorization: 401", "pass-header Authorization", "#401-unauthorized"),
        new("scheme-behind-balancer", Problem, FindTrustedBalancer,
            "if it ends TLS, the application takes each request for http: too many redirects",
            "set-param REQUEST_SCHEME https if { ssl_fc } || { var(txn.forwarded_proto) -m str https }", Page + "#behind-a-load-balancer"),
        new("keep-conn-missing", Note, static place => place.Application?.Get("no", "option", "keep-conn") is { } keep
            ? [new(keep.Where, "no option keep-conn")] : [],
            "each request opens a connection", "option keep-conn", Page + "#smallest-configuration"),
        new("path-base", Problem,
            static place => place.PathBases.Where(static set => set.Paths.Count > 0
                && !set.Paths.All(path => (path + "/").StartsWith(set.Value + "/", StringComparison.Ordinal)))
                .Select(static set => new Seen(set.Where, $"PATH_BASE {set.Value} is passed for {string.Join(" and ", set.Paths)}",
                    CreatePathBase(set.Paths[0]))),
            "the path base does not match the condition: 404", "", "#404-not-found"),
        new("path-base", Note,
            static place => place.PathBases.Where(static set => set is { IsUnconditional: true, Value.Length: > 0 })
                .Select(static set => new Seen(set.Where, $"PATH_BASE {set.Value} is passed with each request", CreatePathBase(set.Value))),
            "paths that do not begin with it are a 404", "", "#404-not-found"),
        new("read-timeout", Note,
            static place => place.ServerTimeout is < UsualLimits.LongestPoll and var seconds
                ? [new(place.Backend.Get("timeout", "server")!.Where, string.Create(CultureInfo.InvariantCulture, $"timeout server is {seconds} s"))]
                : [],
            UsualLimits.ShortTimeout, "timeout server 120s", "#504-gateway-timeout"),
        new("streaming-held", Problem,
            static place => place.Frontends.Where(static frontend => frontend.Get("option", "http-no-delay") is null)
                .Select(static frontend => new Seen(frontend.Where, $"{frontend.Kind} {frontend.Name} has no 'option http-no-delay'")),
            "server-sent events come late", "option http-no-delay", "#late-events"),
        new("tcp-mode", Problem, static place => place.Frontends.Append(place.Backend).SelectMany(place.FindOtherMode),
            "HAProxy passes bytes, not requests, and does not speak FastCGI", "mode http", Page + "#smallest-configuration"),
        new("tls-missing", Problem,
            static place => place.Frontends.SelectMany(static frontend => frontend.Lines)
                .Where(static line => line.Is("bind") && line.Words.Skip(1).FirstOrDefault()?.EndsWith(":443", StringComparison.Ordinal) == true
                && !line.Words.Contains("ssl"))
                .Select(static line => new Seen(line.Where, $"{string.Join(' ', line.Words)}, without ssl",
                    $"bind {line.Words[1]} ssl crt /etc/ssl/hello/certificate-and-key.pem")),
            "browsers report a protocol error for https", "", Page + "#full-configuration"),
    ];

    private static IEnumerable<Seen> FindTrustedBalancer(HaProxyPlace place)
    {
        if (place.Application is not { } app || place.Frontends.SelectMany(static frontend => frontend.Lines)
            .FirstOrDefault(static line => line.Is("http-request", "set-src")) is not { } balancer)
            return [];

        // HAProxy sets HTTPS itself where it ends TLS.
        var schemes = app.Lines.Where(static line => line.Is("set-param", "REQUEST_SCHEME") || line.Is("set-param", "HTTPS"));
        return schemes.All(static line => line.Words is [_, _, "https", "if", "{", "ssl_fc", "}"])
            ? [new(app.Where, $"a load balancer is trusted ({balancer.Where}), but REQUEST_SCHEME describes its connection")]
            : [];
    }

    private static string CreatePathBase(string path) => $"set-param PATH_BASE {path} if {{ path_beg {path}/ }} || {{ path {path} }}";
}

/// <summary>A backend with servers that speak FastCGI.</summary>
internal sealed record HaProxyPlace(HaProxySection Backend, List<HaProxySection> All)
{
    public string Where => ApplicationLine?.Where ?? Backend.Where;

    public string Name => $"{Backend.Kind} {Backend.Name}";

    public string? ApplicationName => ApplicationLine is { Words: [_, var name, ..] } ? name : null;

    public HaProxySection? Application => All.FirstOrDefault(section => section.Kind == "fcgi-app" && section.Name == ApplicationName);

    /// <summary>The sections from which requests come to the backend.</summary>
    public IEnumerable<HaProxySection> Frontends => Backend.Kind == "listen"
        ? [Backend]
        : All.Where(section => section.Kind is "frontend" or "listen"
            && section.Lines.Any(line => (line.Is("default_backend") || line.Is("use_backend")) && line.Words.Length > 1 && line.Words[1] == Backend.Name));

    /// <summary>The values of PATH_BASE, with the paths of their conditions.</summary>
    public IEnumerable<(string Where, string Value, List<string> Paths, bool IsUnconditional)> PathBases =>
        from line in Application?.Lines ?? []
        where line.Is("set-param", "PATH_BASE") && line.Words.Length > 2
        let paths = line.Words.SkipWhile(static word => word is not ("path_beg" or "path")).Where(static word => word.StartsWith('/'))
            .Select(static path => path.TrimEnd('/')).Distinct()
        select (line.Where, line.Words[2].TrimEnd('/'), paths.ToList(), line.Words.Length == 3);

    /// <summary>In seconds. HAProxy counts milliseconds if there is no unit.</summary>
    public double? ServerTimeout
    {
        get
        {
            if (Backend.Get("timeout", "server") is not { Words: [_, _, var text, ..] })
                return null;

            var unit = text.TrimStart('0', '1', '2', '3', '4', '5', '6', '7', '8', '9');
            var factor = unit switch { "us" => 1e-6, "s" => 1d, "m" => 60d, "h" => 3600d, "d" => 86400d, _ => 1e-3 };
            return double.TryParse(text[..^unit.Length], NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number * factor : null;
        }
    }

    /// <summary>Without a line, the mode is tcp; a part of a configuration does not show it.</summary>
    public IEnumerable<Seen> FindOtherMode(HaProxySection section)
    {
        if (section.Get("mode") is { } mode)
            return mode.Words is [_, "http", ..] ? [] : [new(mode.Where, $"{section.Kind} {section.Name} has {string.Join(' ', mode.Words)}")];
        return All.Any(static other => other.Kind == "global") ? [new(section.Where, $"{section.Kind} {section.Name} has no mode")] : [];
    }

    private HaProxyLine? ApplicationLine => Backend.Get("use-fcgi-app");
}
