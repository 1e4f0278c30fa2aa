using System.Globalization;
using static FastCgi.Tool.Commands.Doctor.DoctorFinding;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The rules for a line of Apache that passes requests to FastCGI.</summary>
internal static class ApacheRules
{
    private const string Page = "front-ends/apache.md";

    public static readonly Rule<ApachePlace>[] All =
    [
        new("authorization-dropped", Problem, static place => place.IsOn("CGIPassAuth") ? []
            : [new(place.Where, $"no CGIPassAuth On for {place.Path}", place.InLocation("CGIPassAuth On"))],
            "the application never sees Authorization: 401", "", "#401-unauthorized"),
        new("streaming-held", Problem, static place => place.IsProxyPass && place.GetOption("flushpackets") != "on"
            ? [new(place.Where, "the ProxyPass line has no flushpackets=on")] : [],
            "server-sent events come late, or all at the end", "flushpackets=on", "#late-events"),
        new("read-timeout", Note, static place => place.Seconds >= UsualLimits.LongestPoll ? []
            : [new(place.Where, place.Timeout is { } timeout ? $"the timeout is {timeout}" : "there is no timeout")],
            UsualLimits.ShortTimeout, "timeout=120", "#504-gateway-timeout"),
        new("keepalive-missing", Fact, static place => place.IsProxyPass && place.GetOption("enablereuse") != "on"
            ? [new(place.Where, "the ProxyPass line has no enablereuse=on")] : [],
            "each request opens a connection", "enablereuse=on", ""),
        new("scheme-behind-balancer", Problem,
            static place => place.FindGlobal("RemoteIPHeader") is { } balancer && !place.SetsHttps && !place.UsesTls
                ? [new(balancer.Where, "a load balancer is trusted, and nothing sets HTTPS for its requests")]
                : [],
            "if it ends TLS, the application takes each request for http: too many redirects",
            "SetEnvIfExpr \"%{CONN_REMOTE_ADDR} == '192.0.2.10' && req('X-Forwarded-Proto') == 'https'\" HTTPS=on", Page + "#behind-a-load-balancer"),
        new("path-base", Problem, FindOtherPathBase,
            "the path base does not match the location: 404", "", "#404-not-found"),
        new("path-base", Note,
            static place => place.Path.TrimEnd('/') is ['/', ..] path
                && !place.Find("SetEnv").Any(static directive => directive.Arguments is ["PATH_BASE", _]) && !place.Find("ProxyFCGISetEnvIf").Any()
                ? [new(place.Where, $"no PATH_BASE is passed for {path}", place.InLocation($"SetEnv PATH_BASE {path}"),
                    $"the application sees paths that begin with {path}: 404, unless it expects them")]
                : [],
            "", "", "#404-not-found"),
        new("nocanon", Problem,
            static place => place.IsNoCanon && !place.Find("ProxyFCGIBackendType")
                .Any(static directive => directive.Arguments is [var type] && type.Equals("GENERIC", StringComparison.OrdinalIgnoreCase))
                ? [new(place.Where, "nocanon, without ProxyFCGIBackendType GENERIC", place.InLocation("ProxyFCGIBackendType GENERIC"))]
                : [],
            "a request with a query is a 403", "", Page + "#full-configuration"),
        new("nocanon", Problem,
            static place => !place.IsNoCanon && place.FindGlobal("AllowEncodedSlashes") is { Arguments: [var mode] } slashes
                && mode.Equals("NoDecode", StringComparison.OrdinalIgnoreCase)
                ? [new(slashes.Where, $"AllowEncodedSlashes NoDecode, and the ProxyPass in line {place.Directive.Line} has no nocanon")]
                : [],
            "%2F in a path arrives as %252F", "nocanon", "#404-not-found"),
        new("target-slash", Problem,
            static place => place.IsProxyPass && place.Path.EndsWith('/') && place.TargetPath.Length == 0
                ? [new(place.Where, $"{place.Target} has no trailing slash, and {place.Path} has one", place.Target + "/")]
                : [],
            "Apache joins host and path, and answers 400, 404 or 500", "", "#404-not-found"),
        new("exclusion-order", Problem, static place => place.FindLateExclusions()
            .Select(late => new Seen(late.Where, $"{late.Text} comes after line {place.Directive.Line}")),
            "the first match counts: the application gets these requests too", "# move this line before the other one", "#404-not-found"),
        new("tls-missing", Problem,
            static place => place.Directive.Host is { } host && host.Argument.EndsWith(":443", StringComparison.Ordinal) && !place.UsesTls
                ? [new($"{host.File}:{host.Line}", $"VirtualHost {host.Argument}, and no SSLEngine on")] : [],
            "browsers report a protocol error for https", "SSLEngine on", Page + "#full-configuration"),
        new("duplicate-server", Problem,
            static place => place.FindDuplicate() is var (name, other)
                ? [new(place.Directive.Host!.Where, $"ServerName {name} is also in {other.Where}, for {other.Argument}")] : [],
            "Apache uses only the first of the two", "# remove one of them, or change its ServerName", "#404-not-found"),
        new("access-denied", Problem, static place => place.FindDenial() is { } denial
            ? [new(denial.Where, $"Require all denied applies to {place.Path}")] : [],
            "Apache answers 403", "Require all granted", "#404-not-found"),
        new("rewrite-proxy", Note, static place => place.Directive.Is("RewriteRule") ? [new(place.Where, "RewriteRule with [P]")] : [],
            "its connections have no timeout, flushpackets or enablereuse of their own",
                "ProxyPass \"/\" \"fcgi://127.0.0.1:9000/\" flushpackets=on timeout=120",
            Page + "#smallest-configuration"),
    ];

    private static IEnumerable<Seen> FindOtherPathBase(ApachePlace place)
    {
        foreach (var set in place.Visible.Where(static directive => directive.Is("SetEnv") && directive.Arguments is ["PATH_BASE", _]))
        {
            var location = set.Sections.LastOrDefault(static section => section.Name == "location")?.Argument.TrimEnd('/');
            var value = set.Arguments[1].TrimEnd('/');
            if (location is null || (location + "/").StartsWith(value + "/", StringComparison.Ordinal))
                continue;

            var line = location.Length > 0 ? $"SetEnv PATH_BASE {location}" : $"<Location \"{value}\">\n    SetEnv PATH_BASE {value}\n</Location>";
            yield return new(set.Where, $"<Location {(location.Length > 0 ? location : "/")}> passes PATH_BASE {value}", line);
        }
    }
}

/// <summary>A line that passes requests on.</summary>
internal sealed record ApachePlace(ApacheDirective Directive, string Path, string Target, string Scheme, bool IsProxyPass, List<ApacheDirective> All)
{
    private static readonly string[] s_schemes = ["fcgi", "http", "https", "balancer"];

    public string Where => Directive.Where;

    public bool IsNoCanon => Directive.Arguments.Contains("nocanon", StringComparer.OrdinalIgnoreCase);

    public string? Timeout => GetOption("timeout") ?? FindGlobal("ProxyTimeout")?.Arguments[0] ?? FindGlobal("Timeout")?.Arguments[0];

    public double Seconds => double.TryParse(Timeout ?? "60", CultureInfo.InvariantCulture, out var seconds) ? seconds : 0;

    public bool UsesTls => FindGlobal("SSLEngine") is { Arguments: [var value] } && !value.Equals("off", StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether the environment variable HTTPS is set, by any directive.</summary>
    public bool SetsHttps => Visible.Any(static directive => directive.Name.StartsWith("SetEnv", StringComparison.OrdinalIgnoreCase)
        && directive.Arguments.Any(static word => word.StartsWith("HTTPS", StringComparison.Ordinal)));

    /// <summary>The directives of the same virtual host, and those outside of all virtual hosts.</summary>
    public IEnumerable<ApacheDirective> Visible => All.Where(directive => directive.Host is null || directive.Host == Directive.Host);

    /// <summary>The target without its scheme and socket.</summary>
    private string Rest => Target[(Target.IndexOf("://", StringComparison.Ordinal) + "://".Length)..];

    /// <summary>What follows host and port.</summary>
    public string TargetPath => Rest.IndexOf('/', StringComparison.Ordinal) is >= 0 and var slash ? Rest[slash..] : "";

    /// <summary>The addresses: several for a balancer.</summary>
    public IEnumerable<string> Addresses => Scheme != "balancer"
        ? [Target.StartsWith("unix:", StringComparison.Ordinal) ? Target.Split('|')[0] : Rest.Split('/')[0]]
        : Members.Select(static member => member[(member.IndexOf("://", StringComparison.Ordinal) + "://".Length)..].Split('/')[0]);

    private IEnumerable<string> Members => All.Where(directive => directive.Is("BalancerMember") && directive.Arguments.Length > 0
        && directive.Sections.Any(section => section.Name == "proxy" && section.Argument.TrimEnd('/') == $"balancer://{Rest.Split('/')[0]}"))
            .Select(static directive => directive.Arguments[0]);

    public bool IsFastCgi => Scheme == "fcgi" || Members.Any(static member => member.StartsWith("fcgi://", StringComparison.Ordinal));

    public static ApachePlace? TryCreate(ApacheDirective directive, List<ApacheDirective> all)
    {
        var isProxyPass = directive.Is("ProxyPass") || directive.Is("ProxyPassMatch");
        var around = directive.Sections.LastOrDefault(static section => section.Name == "location")?.Argument ?? "/";
        var (path, target) = directive switch
        {
            { Arguments: [var first, var second, ..] } when isProxyPass
                && !first.Contains("://", StringComparison.Ordinal) => (directive.Is("ProxyPass") ? first : "", second),
            { Arguments: [var only, ..] } when isProxyPass => (around, only),
            { Arguments: [['p', 'r', 'o', 'x', 'y', ':', .. var handler]] } when directive.Is("SetHandler") => (around, handler),
            { Arguments: [_, var to, var flags] } when directive.Is("RewriteRule") && flags.Trim('[', ']').Split(',').Contains("P") => ("/", to),
            _ => ("", ""),
        };
        var scheme = s_schemes.FirstOrDefault(scheme => target.StartsWith(scheme + "://", StringComparison.Ordinal)
            || target.Contains($"|{scheme}://", StringComparison.Ordinal));
        return scheme is null ? null : new ApachePlace(directive, path, target, scheme, isProxyPass, all);
    }

    /// <summary>An option of the line, such as <c>timeout=120</c>.</summary>
    public string? GetOption(string name)
        => Directive.Arguments.LastOrDefault(argument => argument.StartsWith(name + "=",
            StringComparison.OrdinalIgnoreCase))?[(name.Length + 1)..].ToLowerInvariant();

    /// <summary>The directives that apply to the path.</summary>
    public IEnumerable<ApacheDirective> Find(string name) => Visible.Where(directive => directive.Is(name) && directive.Sections.All(Covers));

    /// <summary>The directive of the virtual host, or of the whole server.</summary>
    public ApacheDirective? FindGlobal(string name)
        => Visible.LastOrDefault(directive => directive.Is(name) && directive.Arguments.Length > 0
            && directive.Sections.All(static section => section.Name is "virtualhost" or "ifmodule"));

    public bool IsOn(string name) => Find(name).Any(static directive => directive.Arguments is [var value]
        && value.Equals("on", StringComparison.OrdinalIgnoreCase));

    public string InLocation(string line) => $"<Location \"{(Path.Length > 0 ? Path : "/")}\">\n    {line}\n</Location>";

    /// <summary>Exclusions of the same host that come too late.</summary>
    public IEnumerable<ApacheDirective> FindLateExclusions() => !IsProxyPass || Directive.Sections.Any(static section => section.Name == "location")
        ? []
        : Visible.SkipWhile(directive => !ReferenceEquals(directive, Directive))
            .Where(later => later.Is("ProxyPass") && later.Arguments is [var path, "!", ..] && later.Host == Directive.Host
                && path.StartsWith(Path, StringComparison.Ordinal));

    public ApacheDirective? FindDenial()
    {
        var last = Find("Require").LastOrDefault(static directive => directive.Sections.Any(static section => section.Name is "location" or "proxy"));
        return last?.Arguments is ["all", "denied"] ? last : null;
    }

    /// <summary>An earlier virtual host with the same address and name.</summary>
    public (string Name, ApacheSection Other)? FindDuplicate()
    {
        if (Directive.Host is not { } own || FindName(own) is not { } name)
            return null;
        var other = All.Select(static directive => directive.Host).OfType<ApacheSection>().TakeWhile(host => host != own)
            .FirstOrDefault(host => host.Argument == own.Argument && FindName(host) == name);
        return other is null ? null : (name, other);
    }

    private string? FindName(ApacheSection host) => All.LastOrDefault(directive => directive.Host == host && directive.Is("ServerName"))?.Arguments
        .FirstOrDefault();

    private bool Covers(ApacheSection section) => section.Name switch
    {
        "location" => (Path.TrimEnd('/') + "/").StartsWith(section.Argument.TrimEnd('/') + "/", StringComparison.Ordinal)
            || Directive.Sections.Contains(section),
        "virtualhost" or "ifmodule" or "directory" or "locationmatch" or "filesmatch" => true,
        "proxy" => section.Argument is "*" || Target.StartsWith(section.Argument, StringComparison.Ordinal),
        _ => Directive.Sections.Contains(section),
    };
}
