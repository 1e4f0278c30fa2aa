using System.Globalization;
using FastCgi.Client;
using FastCgi.Tool.Terminal;
using static FastCgi.Tool.Commands.Doctor.UsualLimits;

namespace FastCgi.Tool.Commands.Doctor;

/// <summary>Looks at each place of a configuration of Apache that passes requests to FastCGI.</summary>
internal sealed class ApacheInspector(DoctorReport report, AddressInspector addresses)
{
    // HUGE_STRING_LEN less the end of a line; no directive changes it.
    private static readonly HeadBuffer s_headBuffer = new("Apache", 8_190, "Apache answers 500 and logs 'AH01070: Error parsing script headers'", "# no line of Apache: the application has to send a shorter header") { IsOfOneHeader = true };
    private const string Page = "front-ends/apache.md";

    private List<ApacheDirective> _all = [];

    /// <exception cref="ToolException">Nothing in it passes requests on.</exception>
    public async Task InspectAsync(string file, string text, CancellationToken cancellationToken)
    {
        _all = ApacheReader.Read(file, text);
        var places = _all.Select(ApachePlace.TryCreate).OfType<ApachePlace>().ToList();
        if (places.Count == 0)
            throw new ToolException(ExitCode.CannotRun, "The configuration has no ProxyPass and no SetHandler that passes requests on. Includes are followed; what mod_macro makes is not seen.");

        foreach (var place in places)
        {
            if (place.Scheme == "fcgi")
            {
                report.AddFact($"{place.Directive.Where}: {place.Path} to {place.Target}");
                InspectModule(place, file);
                InspectPlace(place);
                InspectEncoding(place);
                if (place.Address is { } address)
                {
                    await addresses.InspectAsync(address, users: null, s_headBuffer, cancellationToken);
                    if (await addresses.ReadStatusAsync(address, cancellationToken) is { } status)
                        Compare(place, new ApplicationLimits(status));
                }
            }
            else if (place.Address is { } address && await addresses.SpeaksFastCgiAsync(address, cancellationToken))
            {
                report.AddProblem(
                    DoctorRule.HttpToFastcgi, place.Directive.Where, $"{place.Target}, and what listens there speaks FastCGI", place.Scheme == "http" ? "the application answers 400, 'This port speaks FastCGI, not HTTP.'" : "Apache answers 502",
                    $"ProxyPass \"{place.Path}\" \"{place.Target.Replace(place.Scheme + "://", "fcgi://", StringComparison.Ordinal)}\" flushpackets=on timeout=120", Trouble + "#400-bad-request");
            }
        }
    }

    private void InspectPlace(ApachePlace place)
    {
        var where = place.Directive.Where;
        if (!Find(place, "CGIPassAuth").Any(static directive => directive.Arguments is [var value] && value.Equals("on", StringComparison.OrdinalIgnoreCase)))
            report.AddProblem(DoctorRule.AuthorizationDropped, where, $"no CGIPassAuth On counts for {place.Path}", "the application never sees Authorization: 401", $"<Location \"{place.Path}\">\n    CGIPassAuth On\n</Location>", Trouble + "#401-unauthorized");
        if (place.IsProxyPass && place.GetOption("flushpackets") != "on")
            report.AddProblem(DoctorRule.StreamingHeld, where, "the ProxyPass line has no flushpackets=on", "server-sent events come late, or all at the end", "flushpackets=on", Trouble + "#late-events");
        var timeout = FindTimeout(place);
        if (!double.TryParse(timeout ?? "60", CultureInfo.InvariantCulture, out var seconds) || seconds < LongestPoll)
            report.AddNote(DoctorRule.ReadTimeout, where, timeout is null ? "there is no timeout" : $"the timeout is {timeout}", "answers that are silent for longer are a 504; the long polls of Blazor and SignalR last up to 90 seconds", "timeout=120", Trouble + "#504-gateway-timeout");
        if (place.IsProxyPass && place.GetOption("enablereuse") != "on")
            report.AddNote(DoctorRule.KeepaliveMissing, where, "the ProxyPass line has no enablereuse=on", "each request opens a connection to the application, which costs time", "enablereuse=on", Page + "#full-configuration");
        InspectPathBase(place);
        if (FindGlobal(place, "RemoteIPHeader") is { } balancer && !_all.Any(directive => IsSeen(directive, place) && directive.Name.StartsWith("SetEnv", StringComparison.OrdinalIgnoreCase) && directive.Arguments.Any(static word => word.StartsWith("HTTPS", StringComparison.Ordinal)))
            && !_all.Any(directive => IsSeen(directive, place) && directive.Is("SSLEngine") && directive.Arguments is ["on" or "On"]))
        {
            report.AddProblem(
                DoctorRule.SchemeBehindBalancer, balancer.Where, "a load balancer is believed, and nothing sets HTTPS for its requests", "if it ends TLS, the application takes each request for http: too many redirects",
                "SetEnvIfExpr \"%{CONN_REMOTE_ADDR} == '192.0.2.10' && req('X-Forwarded-Proto') == 'https'\" HTTPS=on", Page + "#behind-a-load-balancer");
        }
    }

    private string? FindTimeout(ApachePlace place)
        => place.GetOption("timeout") ?? FindGlobal(place, "ProxyTimeout")?.Arguments[0] ?? FindGlobal(place, "Timeout")?.Arguments[0];

    /// <summary>Compares the times of both. LimitRequestBody does not count for what mod_proxy_fcgi passes on.</summary>
    private void Compare(ApachePlace place, ApplicationLimits limits)
    {
        if (double.TryParse(FindTimeout(place) ?? "60", CultureInfo.InvariantCulture, out var seconds))
            limits.CompareTimes(report, place.Directive.Where, "the timeout", seconds);
    }

    private void InspectPathBase(ApachePlace place)
    {
        foreach (var set in _all.Where(directive => IsSeen(directive, place) && directive.Is("SetEnv") && directive.Arguments is ["PATH_BASE", _]))
        {
            var (location, value) = (set.Sections.LastOrDefault(static section => section.Name == "location")?.Argument.TrimEnd('/'), set.Arguments[1].TrimEnd('/'));
            if (location is not null && location != value && !location.StartsWith(value + "/", StringComparison.Ordinal))
                report.AddProblem(DoctorRule.PathBase, set.Where, $"<Location {(location.Length > 0 ? location : "/")}> passes PATH_BASE {value}", "the path base is not that of the location: 404", location.Length > 0 ? $"SetEnv PATH_BASE {location}" : $"<Location \"{value}\">\n    SetEnv PATH_BASE {value}\n</Location>", Trouble + "#404-not-found");
        }

        if (place.Path.TrimEnd('/') is ['/', ..] path && !Find(place, "SetEnv").Any(static directive => directive.Arguments is ["PATH_BASE", _]))
            report.AddNote(DoctorRule.PathBase, place.Directive.Where, $"no PATH_BASE counts for {path}", $"the application sees paths that begin with {path}: 404, unless it has that path base or such paths itself", $"<Location \"{path}\">\n    SetEnv PATH_BASE {path}\n</Location>", Trouble + "#404-not-found");
    }

    private void InspectEncoding(ApachePlace place)
    {
        var isNoCanon = place.Directive.Arguments.Contains("nocanon", StringComparer.OrdinalIgnoreCase);
        if (isNoCanon && !Find(place, "ProxyFCGIBackendType").Any(static directive => directive.Arguments is [var type] && type.Equals("GENERIC", StringComparison.OrdinalIgnoreCase)))
            report.AddProblem(DoctorRule.Nocanon, place.Directive.Where, "nocanon, without ProxyFCGIBackendType GENERIC", "a request with a query is a 403", $"<Location \"{place.Path}\">\n    ProxyFCGIBackendType GENERIC\n</Location>", Page + "#full-configuration");
        else if (!isNoCanon && FindGlobal(place, "AllowEncodedSlashes") is { Arguments: [var mode] } slashes && mode.Equals("NoDecode", StringComparison.OrdinalIgnoreCase))
            report.AddProblem(DoctorRule.Nocanon, slashes.Where, $"AllowEncodedSlashes NoDecode, and the ProxyPass line {place.Directive.Line} has no nocanon", "%2F in a path arrives as %252F", "nocanon", Trouble + "#404-not-found");
    }

    /// <summary>The file names the modules, or it is of a folder that does: of Debian, <c>mods-enabled</c>.</summary>
    private void InspectModule(ApachePlace place, string file)
    {
        var loads = _all.Where(static directive => directive.Is("LoadModule")).ToList();
        var isMissing = loads.Count > 0 && loads.All(static load => load.Arguments is not ["proxy_fcgi_module", ..]);
        for (var folder = Path.GetDirectoryName(Path.GetFullPath(file)); loads.Count == 0 && folder is not null; folder = Path.GetDirectoryName(folder))
        {
            var modules = Path.Combine(folder, "mods-enabled");
            if (Directory.Exists(modules))
            {
                isMissing = !File.Exists(Path.Combine(modules, "proxy_fcgi.load"));
                break;
            }
        }

        if (isMissing)
            report.AddProblem(DoctorRule.ModuleMissing, place.Directive.Where, "proxy_fcgi_module is not loaded", "Apache does not start, or answers 500", "a2enmod proxy_fcgi", Page + "#smallest-configuration");
    }

    /// <summary>Directives that count for the path of a place.</summary>
    private IEnumerable<ApacheDirective> Find(ApachePlace place, string name) => _all.Where(directive => directive.Is(name) && IsSeen(directive, place) && directive.Sections.All(section => Covers(section, place)));

    /// <summary>A directive of the virtual host, or of the whole server.</summary>
    private ApacheDirective? FindGlobal(ApachePlace place, string name)
        => _all.LastOrDefault(directive => directive.Is(name) && directive.Arguments.Length > 0 && IsSeen(directive, place) && directive.Sections.All(static section => section.Name is "virtualhost" or "ifmodule"));

    private static bool IsSeen(ApacheDirective directive, ApachePlace place) => directive.Host is null || directive.Host == place.Directive.Host;

    private static bool Covers(ApacheSection section, ApachePlace place) => section.Name switch
    {
        "location" => place.Path == section.Argument || place.Path.StartsWith(section.Argument.TrimEnd('/') + "/", StringComparison.Ordinal) || place.Directive.Sections.Contains(section),
        "virtualhost" or "ifmodule" => true,
        "directory" or "locationmatch" or "filesmatch" or "proxy" => true,
        _ => place.Directive.Sections.Contains(section),
    };
}

/// <summary>A line that passes requests on.</summary>
internal sealed record ApachePlace(ApacheDirective Directive, string Path, string Target, string Scheme, bool IsProxyPass)
{
    private static readonly string[] s_schemes = ["fcgi", "http", "https"];

    public FastCgiAddress? Address
    {
        get
        {
            var text = Target.StartsWith("unix:", StringComparison.Ordinal) ? Target.Split('|')[0] : Target[(Scheme.Length + "://".Length)..].Split('/')[0];
            return FastCgiAddress.TryParse(text, out var address) ? address : null;
        }
    }

    public static ApachePlace? TryCreate(ApacheDirective directive)
    {
        var isProxyPass = directive.Is("ProxyPass") || directive.Is("ProxyPassMatch");
        var around = directive.Sections.LastOrDefault(static section => section.Name == "location")?.Argument;
        var (path, target) = directive switch
        {
            { Arguments: [var first, var second, ..] } when isProxyPass && !first.Contains("://", StringComparison.Ordinal) => (directive.Is("ProxyPass") ? first : "/", second),
            { Arguments: [var only, ..] } when isProxyPass => (around ?? "/", only),
            { Arguments: [['p', 'r', 'o', 'x', 'y', ':', .. var handler]] } when directive.Is("SetHandler") => (around ?? "/", handler),
            _ => ("", ""),
        };
        var scheme = s_schemes.FirstOrDefault(scheme => target.StartsWith(scheme + "://", StringComparison.Ordinal) || target.Contains($"|{scheme}://", StringComparison.Ordinal));
        return scheme is null ? null : new ApachePlace(directive, path, target, scheme, isProxyPass);
    }

    /// <summary>A value behind the target, as <c>timeout=120</c>.</summary>
    public string? GetOption(string name)
        => Directive.Arguments.LastOrDefault(argument => argument.StartsWith(name + "=", StringComparison.OrdinalIgnoreCase))?[(name.Length + 1)..].ToLowerInvariant();
}
