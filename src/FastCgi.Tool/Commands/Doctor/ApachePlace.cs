namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A line of Apache that passes requests on.</summary>
internal sealed class ApachePlace(Directive pass, string path, string target, string scheme, Directive root) : Place(pass)
{
    private static readonly string[] s_schemes = ["fcgi", "http", "https", "balancer"];

    private static readonly Rule<ApachePlace>[] s_rules =
    [
        new("apache.module-missing", static place => place.LacksModule() ? [new(place.Where, "proxy_fcgi_module is not loaded")] : []),
        new("apache.authorization-dropped", static place => place.IsOn("CGIPassAuth") ? []
            : [new(place.Where, $"no CGIPassAuth On for {place.Path}", place.InLocation("CGIPassAuth On"))]),
        new("apache.streaming-held", static place => place.IsProxyPass && place.GetOption("flushpackets") != "on"
            ? [new(place.Where, "the ProxyPass line has no flushpackets=on")] : []),
        new("apache.read-timeout", static place => place.ReadTimeout >= LongestPoll ? []
            : [new(place.Where, place.Timeout is { } timeout ? $"the timeout is {timeout}" : "there is no timeout")]),
        new("apache.keepalive-missing", static place => place.IsProxyPass && place.GetOption("enablereuse") != "on"
            ? [new(place.Where, "the ProxyPass line has no enablereuse=on")] : []),
        new("apache.scheme-behind-balancer", static place => place.FindGlobal("RemoteIPHeader") is { } balancer && !place.SetsHttps && !place.UsesTls
            ? [new(balancer.Where, "a load balancer is trusted, but nothing sets HTTPS for its requests")] : []),
        new("apache.path-base.other", static place => place.Visible.SelectMany(FindOtherPathBase)),
        new("apache.path-base.missing", static place => place.Path.TrimEnd('/') is ['/', ..] path
            && !place.Find("SetEnv").Any(static directive => directive.Arguments is ["PATH_BASE", _]) && !place.Find("ProxyFCGISetEnvIf").Any()
            ? [LacksPathBase(place.Where, $"no PATH_BASE is passed for {path}", path, place.InLocation($"SetEnv PATH_BASE {path}"))] : []),
        new("apache.nocanon.type", static place => place.IsNoCanon && !place.Find("ProxyFCGIBackendType").Any(static type => type.Is(type.Name, "GENERIC"))
            ? [new(place.Where, "nocanon without ProxyFCGIBackendType GENERIC", place.InLocation("ProxyFCGIBackendType GENERIC"))] : []),
        new("apache.nocanon.slashes", static place => !place.IsNoCanon
            && place.FindGlobal("AllowEncodedSlashes") is { } slashes && slashes.Is(slashes.Name, "NoDecode")
            ? [new(slashes.Where, $"AllowEncodedSlashes NoDecode, and the ProxyPass in line {place.Pass.Line} has no nocanon")] : []),
        new("apache.target-slash", static place => place.IsProxyPass && place.Path.EndsWith('/') && place.TargetPath.Length == 0
            ? [new(place.Where, $"{place.Target} has no trailing slash, and {place.Path} has one", place.Target + "/")] : []),
        new("apache.exclusion-order", static place => place.FindLateExclusions()
            .Select(late => new Seen(late.Where, $"{late.Text} comes after line {place.Pass.Line}"))),
        new("apache.tls-missing", static place => place.Host is { } host && host.First?.EndsWith(":443", StringComparison.Ordinal) == true && !place.UsesTls
            ? [new(host.Where, $"VirtualHost {host.First} has no SSLEngine on")] : []),
        new("apache.duplicate-server", static place => place.FindDuplicate()),
        new("apache.access-denied", static place => place.FindDenial() is { } denial
            ? [new(denial.Where, $"Require all denied applies to {place.Path}")] : []),
        new("apache.rewrite-proxy", static place => place.Pass.Is("RewriteRule") ? [new(place.Where, "RewriteRule with [P]")] : []),
    ];

    // HUGE_STRING_LEN without the end of the line; no directive changes it.
    private static readonly HeadBuffer s_headBuffer = new("Apache", 8_190, "Apache returns 500 and logs 'AH01070: Error parsing script headers'",
        "# Apache has no setting for it: shorten the header in the application", IsOfOneHeader: true);

    public override string Path => path;
    public override string Description => $"{path} to {target}";

    public override bool IsFastCgi => scheme == "fcgi" || Members.Any(static member => member.StartsWith("fcgi://", StringComparison.Ordinal));

    public override HeadBuffer HeadBuffer => s_headBuffer;

    public override IEnumerable<string> Targets => scheme == "balancer" ? Members.Select(static member => Rest(member).Split('/')[0])
        : [target.StartsWith("unix:", StringComparison.Ordinal) ? target.Split('|')[0] : Rest(target).Split('/')[0]];

    private double ReadTimeout => double.TryParse(Timeout ?? "60", CultureInfo.InvariantCulture, out var seconds) ? seconds : 0;

    public override (string, string?, string) HttpMistake => ($"{target}, but the application there speaks FastCGI",
        scheme == "http" ? null : "Apache returns 502",
        $"ProxyPass \"{path}\" \"{target.Replace(scheme + "://", "fcgi://", StringComparison.Ordinal)}\" flushpackets=on timeout=120");

    public string Target => target;

    public bool IsProxyPass => Pass.Is("ProxyPass") || Pass.Is("ProxyPassMatch");

    public bool IsNoCanon => Pass.Arguments.Contains("nocanon", StringComparer.OrdinalIgnoreCase);

    public string? Timeout => GetOption("timeout") ?? FindGlobal("ProxyTimeout")?.First ?? FindGlobal("Timeout")?.First;

    public bool UsesTls => FindGlobal("SSLEngine") is { Arguments: [var value] } && !value.Equals("off", StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether the environment variable HTTPS is set, by any directive.</summary>
    public bool SetsHttps => Visible.Any(static directive => directive.Name.StartsWith("SetEnv", StringComparison.OrdinalIgnoreCase)
        && directive.Arguments.Any(static word => word.StartsWith("HTTPS", StringComparison.Ordinal)));

    public Directive? Host => Pass.FindAround("VirtualHost");

    /// <summary>The directives of the same virtual host, and those outside of all virtual hosts.</summary>
    public IEnumerable<Directive> Visible => root.All.Where(directive => directive.FindAround("VirtualHost") is var host && (host is null || host == Host));

    public string TargetPath => Rest(target).IndexOf('/', StringComparison.Ordinal) is >= 0 and var slash ? Rest(target)[slash..] : "";

    private IEnumerable<string> Members => root.All.Where(member => member.Is("BalancerMember")
        && member.FindAround("Proxy")?.First?.TrimEnd('/') == $"balancer://{Rest(target).Split('/')[0]}").Select(static member => member.First ?? "");

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new ApacheReader(report, file).Read(text);
        return root.All.ToList().Select(directive => TryCreate(directive, root)).OfType<ApachePlace>();
    }

    public override void Apply(DoctorReport report) => report.Apply(s_rules, this);

    private static ApachePlace? TryCreate(Directive directive, Directive root)
    {
        var isProxyPass = directive.Is("ProxyPass") || directive.Is("ProxyPassMatch");
        var around = directive.FindAround("Location")?.First ?? "/";
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
        return scheme is null ? null : new ApachePlace(directive, path, target, scheme, root);
    }

    private static string Rest(string target) => target[(target.IndexOf("://", StringComparison.Ordinal) is >= 0 and var index ? index + "://".Length : 0)..];

    /// <summary>An option of the line, such as <c>timeout=120</c>.</summary>
    public string? GetOption(string name) => Pass.Arguments.LastOrDefault(argument => argument.StartsWith(name + "=", StringComparison.OrdinalIgnoreCase))?
        [(name.Length + 1)..].ToLowerInvariant();

    /// <summary>The directives that apply to the path.</summary>
    public IEnumerable<Directive> Find(string name) => Visible.Where(directive => directive.Is(name) && directive.Around.SkipLast(1).All(Covers));

    /// <summary>The directive of the virtual host, or of the whole server.</summary>
    public Directive? FindGlobal(string name) => Visible.LastOrDefault(directive => directive.Is(name) && directive.First is not null
        && directive.Around.SkipLast(1).All(static section => section.Is("VirtualHost") || section.Is("IfModule")));

    public bool IsOn(string name) => Find(name).Any(static directive => directive.Arguments is [var value]
        && value.Equals("on", StringComparison.OrdinalIgnoreCase));

    public string InLocation(string line) => $"<Location \"{(path.Length > 0 ? path : "/")}\">\n    {line}\n</Location>";

    /// <summary>Exclusions of the same host that come too late.</summary>
    public IEnumerable<Directive> FindLateExclusions() => !IsProxyPass || Pass.FindAround("Location") is not null ? []
        : Visible.SkipWhile(directive => directive != Pass).Where(later => later.Is("ProxyPass") && later.Arguments is [var excluded, "!", ..]
            && later.FindAround("VirtualHost") == Host && excluded.StartsWith(path, StringComparison.Ordinal));

    public Directive? FindDenial() => Find("Require").LastOrDefault(static directive => directive.FindAround("Location") is not null
        || directive.FindAround("Proxy") is not null) is { Arguments: ["all", "denied"] } last ? last : null;

    /// <summary>Matches an earlier virtual host with the same address and name.</summary>
    public IEnumerable<Seen> FindDuplicate() => Host is { } own && own.Find("ServerName")?.First is { } name && root.All
        .TakeWhile(other => other != own).FirstOrDefault(other => other.Is("VirtualHost", own.First ?? "") && other.Find("ServerName", name) is not null)
            is { } other ? [new(own.Where, $"ServerName {name} is also in {other.Where}, for {other.First}")] : [];

    /// <summary>Whether the file loads other modules, or a folder above it does: on Debian, <c>mods-enabled</c>.</summary>
    public bool LacksModule()
    {
        var loads = root.All.Where(static directive => directive.Is("LoadModule")).ToList();
        if (loads.Count > 0)
            return loads.All(static load => load.First != "proxy_fcgi_module");

        var folder = new FileInfo(root.File).Directory;
        while (folder is not null && !Directory.Exists(folder + "/mods-enabled"))
            folder = folder.Parent;
        return folder is not null && !File.Exists(folder + "/mods-enabled/proxy_fcgi.load");
    }

    private bool Covers(Directive section) => section.Name.ToLowerInvariant() switch
    {
        "location" => (path.TrimEnd('/') + "/").StartsWith(section.First?.TrimEnd('/') + "/", StringComparison.Ordinal) || Pass.Around.Contains(section),
        "virtualhost" or "ifmodule" or "directory" or "locationmatch" or "filesmatch" => true,
        "proxy" => section.First is "*" || target.StartsWith(section.First ?? "", StringComparison.Ordinal),
        _ => Pass.Around.Contains(section),
    };

    private static IEnumerable<Seen> FindOtherPathBase(Directive set)
    {
        if (!set.Is("SetEnv", "PATH_BASE") || set.Arguments is not [_, var text] || set.FindAround("Location")?.First?.TrimEnd('/') is not { } location)
            return [];

        var value = text.TrimEnd('/');
        var line = location.Length > 0 ? $"SetEnv PATH_BASE {location}" : $"<Location \"{value}\">\n    SetEnv PATH_BASE {value}\n</Location>";
        return (location + "/").StartsWith(value + "/", StringComparison.Ordinal) ? []
            : [new(set.Where, $"<Location {(location.Length > 0 ? location : "/")}> passes PATH_BASE {value}", line)];
    }
}
