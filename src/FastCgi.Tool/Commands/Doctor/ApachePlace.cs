namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A line of Apache that forwards requests.</summary>
internal sealed class ApachePlace(Directive pass, string path, string target, string scheme, Directive root)
    : Place(pass)
{
    private static readonly string[] s_hosts = ["VirtualHost", "IfModule", "IfVersion", "IfDefine"];
    private static readonly string[] s_conditions = ["If", "ElseIf", "Else", "Limit", "LimitExcept"];
    private static readonly string[] s_patterns = ["Files", "FilesMatch", "LocationMatch"];
    private static readonly string[] s_schemes = ["fcgi", "http", "https", "uwsgi", "scgi", "balancer"];

    private static readonly Regex s_decoded = new(@"%\{(REQUEST_URI|DOCUMENT_URI|SCRIPT_NAME|PATH_INFO)\}");

    private static readonly Regex s_setsAuthorization =
        new(@"(^|[\[,])\s*(E|env)=HTTP_AUTHORIZATION:", RegexOptions.IgnoreCase);

    private static readonly Regex s_start = new(@"^\^?((?:/[\w-]+)*)");
    private static readonly Regex s_setsHttps = new(@"^(.*[\[,]\s*(E|env)=)?HTTPS\b");

    /// <summary>Whether the path is mapped to a file. <c>ProxyPass</c> takes the request before that.</summary>
    public bool IsFile { get; } = pass.Is("SetHandler")
        || (pass.FindAround("Directory") ?? pass.FindAround("Files")) is not null
        || (pass.Is("RewriteRule") && pass.FindAround("VirtualHost") is null);

    /// <summary>The path, or that with which a pattern begins.</summary>
    private readonly string _start
        = pass.Is("ProxyPassMatch") ? s_start.Match(pass.First!).Groups[1].Value : path.TrimEnd('/');

    public override string Path => path;
    public override string FastCgiLines => $"ProxyPass \"{path}\" "
        + $"\"{target.Replace(scheme + "://", "fcgi://", StringComparison.Ordinal)}\" flushpackets=on timeout=120";

    public override string Description => $"{path} to {target}";
    public override bool IsFastCgi => scheme == "fcgi" || Members.Any(static member => member.Contains("fcgi://"));
    public override bool UsesOtherProtocol => scheme is "uwsgi" or "scgi";
    public override object? Site => Host;

    // HUGE_STRING_LEN without the end of the line; no directive changes it.
    public override HeadBuffer HeadBuffer => new(8_190, "Apache",
        "Apache returns 500 and logs 'AH01070: Error parsing script headers'",
        "# Apache has no setting for it: shorten the header in the application", IsOfOneHeader: true);

    /// <summary>The path of ProxyPass; a pattern has none.</summary>
    public override string? Base => path.Length > 0 && !Pass.Is("RewriteRule") ? path.TrimEnd('/') : null;

    public override bool IsWhole => !Visible.Any(static directive => directive.IsUnread);
    public override IEnumerable<string> Targets => IsBalancer ? Members.Select(GetAddress) : [GetAddress(target)];

    public double ReadTimeout
        => double.TryParse(Timeout ?? "60", CultureInfo.InvariantCulture, out var seconds) ? seconds : 0;

    public bool IsProxyPass => Pass.IsAny("ProxyPass", "ProxyPassMatch");
    public bool IsNoCanon => Pass.Arguments.Contains("nocanon", StringComparer.OrdinalIgnoreCase);

    /// <summary>Whether the options belong to the members: for the balancer, Apache rejects them.</summary>
    public bool IsBalancer => scheme == "balancer";

    public string? Timeout => GetOption("timeout") ?? FindGlobal("ProxyTimeout")?.First ?? FindGlobal("Timeout")?.First;

    public bool UsesTls => FindGlobal("SSLEngine") is { Arguments: [var value] }
        && !value.Equals("off", StringComparison.OrdinalIgnoreCase);

    public bool SetsHttps => Visible.Any(static directive
        => (directive.Name.Contains("SetEnv", StringComparison.OrdinalIgnoreCase) || directive.Is("RewriteRule"))
            && directive.Arguments.Any(static word => s_setsHttps.IsMatch(word)));

    /// <summary>Whether the place is for scripts, such as <c>\.php$</c>.</summary>
    public bool IsOfScripts => Pass.Around.Prepend(Pass).Any(static line => line.IsAny("ProxyPassMatch", "FilesMatch")
        && line.First?.Contains("\\.") == true);

    public bool PassesAuthorization => (IsOn("CGIPassAuth") && MisplacedAuthorization is null)
        || Visible.Any(set => Applies(set) && set.Name.StartsWith("SetEnvIf", StringComparison.OrdinalIgnoreCase)
            && set.First!.Contains("auth", StringComparison.OrdinalIgnoreCase)
            && set.Arguments.Any(
                static word => word.StartsWith("HTTP_AUTHORIZATION=", StringComparison.OrdinalIgnoreCase)))
        || Find("ProxyFCGISetEnvIf").Any(static set => set.Arguments is [_, "HTTP_AUTHORIZATION", _])
        || (IsOn("RewriteEngine") && Find("RewriteRule").Any(rule => rule.Arguments is [var pattern, .., var flags]
            && s_setsAuthorization.IsMatch(flags) && (InSection(rule) || (Matches(pattern) && Inherits(rule)))));

    /// <summary>A <c>CGIPassAuth</c> where Apache does not allow it, so that Apache does not start.</summary>
    public Directive? MisplacedAuthorization => Find("CGIPassAuth")
        .FirstOrDefault(static line => line.FindAround("VirtualHost") is not null && !InSection(line));

    public Directive? Host => Pass.FindAround("VirtualHost");

    /// <summary>The directives of the same virtual host, and those outside of all virtual hosts.</summary>
    public IEnumerable<Directive> Visible
        => root.All.Where(line => line.FindAround("VirtualHost") is var host && (host is null || host == Host));

    private IEnumerable<Directive> MemberLines => root.All.Where(member => member.Is("BalancerMember")
        && member.FindAround("Proxy")?.First?.TrimEnd('/') == $"balancer://{Rest(target).Split('/')[0]}");

    private IEnumerable<string> Members => MemberLines.Select(static member => member.First ?? "");

    /// <summary>The lines that set options of the worker: of each member, or of the target.</summary>
    private IEnumerable<Directive[]> OptionLines => IsBalancer
        ? MemberLines.Select(static member => new[] { member })
        : [[.. Visible.Where(line => (line.Is("Proxy") && IsAround(line))
            || (line.Is("ProxySet") && Applies(line))), Pass]];

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new ApacheReader(report, file).Read(text);
        return root.All.ToList().Select(directive => TryCreate(directive, root)).OfType<ApachePlace>();
    }

    private static ApachePlace? TryCreate(Directive directive, Directive root)
    {
        var isProxyPass = directive.IsAny("ProxyPass", "ProxyPassMatch");
        var around = directive.FindAround("Location")?.First ?? "/";
        var (path, target) = directive switch
        {
            { Arguments: [var first, var second, ..] } when isProxyPass && !first.Contains("://")
                => (directive.Is("ProxyPass") ? first : "", second),
            { Arguments: [var only, ..] } when isProxyPass => (around, only),
            { Arguments: [['p', 'r', 'o', 'x', 'y', ':', .. var handler]] } when directive.Is("SetHandler")
                => (around, handler),
            { Arguments: [_, var to, var flags] } when directive.Is("RewriteRule") && HasFlag(flags, "P")
                => ("/", to),
            _ => ("", ""),
        };
        var scheme = s_schemes.FirstOrDefault(scheme => target.StartsWith(scheme + "://", StringComparison.Ordinal)
            || target.Contains($"|{scheme}://", StringComparison.Ordinal));
        return scheme is null ? null : new ApachePlace(directive, path, target, scheme, root);
    }

    private static string GetAddress(string target) => target.StartsWith("unix:", StringComparison.Ordinal)
        ? target.Split('|')[0]
        : Rest(target).Split('/')[0];

    /// <summary>A URL without its scheme.</summary>
    private static string Rest(string target) => target.Split("://", 2)[^1];

    /// <summary>An option such as <c>timeout=120</c>; <see langword="null"/> if a member has none.</summary>
    public string? GetOption(string name)
    {
        var values = OptionLines.Select(lines => lines.SelectMany(static line => line.Arguments)
            .LastOrDefault(word => word.StartsWith(name + "=", StringComparison.OrdinalIgnoreCase))).ToList();
        return values.Contains(null) ? null : values.LastOrDefault()?[(name.Length + 1)..].ToLowerInvariant();
    }

    /// <summary>The directives that apply to the path.</summary>
    public IEnumerable<Directive> Find(string name)
        => Visible.Where(directive => directive.Is(name) && Applies(directive));

    /// <summary>The directive of the virtual host, or of the whole server.</summary>
    public Directive? FindGlobal(string name) => Visible.LastOrDefault(directive => directive.Is(name)
        && directive.First is not null
        && directive.Around.SkipLast(1).All(static section => section.IsAny(s_hosts)));

    public Directive? FindEncodedSlashes()
        => FindGlobal("AllowEncodedSlashes") is { } line && line.Is(line.Name, "NoDecode") ? line : null;

    public bool IsOn(string name) => Find(name).LastOrDefault() is { First: var value }
        && "on".Equals(value, StringComparison.OrdinalIgnoreCase);

    /// <summary>Whether this place gets a path: of all places of the site, it has the longest matching path.</summary>
    public bool Serves(string url)
    {
        var passed = All.OfType<ApachePlace>().Where(place => place.Site == Site && place.Base is { } start
            && IsBelow(url, start) && place.Pass.Around.All(block => !block.IsAny(s_patterns)
                || ApacheReach.Covers(block, url))).MaxBy(static place => place.Path.Length);
        return passed == this && !Visible.Any(directive => directive.Is("ProxyPass")
            && directive.Arguments is [var excluded, "!", ..] && url.StartsWith(excluded, StringComparison.Ordinal));
    }

    public override bool Gets(string path) => Serves(path);

    /// <summary>Whether a line sets the URL that the application sees for a path.</summary>
    public bool SetsTarget(string url) => Visible.Any(set => set.Is("ProxyFCGISetEnvIf")
        && set.Arguments is [_, "REQUEST_URI", _]
        && url.StartsWith(set.FindAround("Location")?.First ?? "/", StringComparison.Ordinal));

    /// <summary>A section for the path with a line, as it is written.</summary>
    public string Locate(string line, string? location = null)
        => $"<Location \"{location ?? (path.Length > 0 ? path : "/")}\">\n    {line}\n</Location>";

    /// <summary>Whether an exclusion comes before the line of the place, so that it applies.</summary>
    public bool IsBefore(Directive exclusion) => !IsProxyPass || Pass.FindAround("Location") is not null
        || Visible.TakeWhile(line => line != Pass).Contains(exclusion);

    public bool LacksPathBase => IsWhole && IsBelowRoot && !IsPartOfApplication
        && Visible.Where(static line => line.Is("FallbackResource")).All(fallback => fallback.First != Base)
        && !Find("SetEnv").Any(static set => set.Arguments is ["PATH_BASE", _]) && !Find("ProxyFCGISetEnvIf").Any();

    /// <summary>Finds values that do not begin the path of their location.</summary>
    public IEnumerable<Seen> FindWrongPathBases()
        => from set in Visible
           where set.Is("SetEnv", "PATH_BASE") && set.Arguments.Length == 2
           let location = set.FindAround("Location")?.First?.TrimEnd('/')
           where location is not null && !IsBelow(location, set.Arguments[1])
           let value = set.Arguments[1].TrimEnd('/')
           let shown = location.Length > 0 ? location : "/"
           select new Seen(set.Where, $"<Location {shown}> passes PATH_BASE {value}",
               Fix: location.Length > 0 ? $"SetEnv PATH_BASE {location}" : Locate($"SetEnv PATH_BASE {value}", value));

    /// <summary>Finds the line that passes a path which Apache has decoded, for all requests.</summary>
    public Directive? FindRewrittenTarget() => Find("ProxyFCGISetEnvIf").FirstOrDefault(line
        => line.Arguments is [_, "REQUEST_URI", var value] && s_decoded.IsMatch(value)
            && IsBelow(Base, line.FindAround("Location")?.First ?? "/"));

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    public IEnumerable<Seen> FindErrorPages(bool isRefused)
        => from page in Visible
           where page.Is("ErrorDocument") && page.Arguments is [_, ['/', ..]]
               && isRefused == (page.First is "401" or "403")
           let url = page.Arguments[1]
           where Serves(url) && !SetsTarget(url)
           select new Seen(page.Where, $"the application serves '{page.Text}'",
               Fix: Locate($"ProxyFCGISetEnvIf \"true\" REQUEST_URI \"{url}\"", url));

    /// <summary>Finds a rule that changes the URL without redirecting the client.</summary>
    public Directive? FindUnseenRewrite() => !IsOn("RewriteEngine") ? null
        : Visible.FirstOrDefault(static rule => rule.Is("RewriteRule")
            && rule.Arguments is [_, ['/', ..], var flags] && HasFlag(flags, "PT") && !HasFlag(flags, "R"));

    private static bool HasFlag(string flags, string flag)
        => flags.Trim('[', ']').Split(',').Any(text => text.Split('=')[0].Trim() == flag);

    /// <summary>Whether modules are loaded, in the file or in Debian's <c>mods-enabled</c>, but not this one.</summary>
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

    public bool Applies(Directive line) => line.First is not null && line.Around.SkipLast(1).All(IsAround);

    private static bool InSection(Directive line)
        => line.Around.SkipLast(1).Any(static section => !section.IsAny(s_hosts));

    /// <summary>A virtual host does not inherit the rules of the server, unless it says so.</summary>
    private bool Inherits(Directive rule) => rule.FindAround("VirtualHost") == Host || Visible.Any(options
        => options.FindAround("VirtualHost") == Host && options.Is("RewriteOptions")
            && options.First!.StartsWith("Inherit", StringComparison.OrdinalIgnoreCase));

    /// <summary>Whether a pattern matches a URL of the place, or cannot be understood.</summary>
    private bool Matches(string pattern)
    {
        var start = path.TrimEnd('/');
        return pattern.StartsWith('!') || TryMatch(pattern, path, start + "/", start + "/x") is not false;
    }

    /// <summary>Whether a section contains requests of the place, perhaps only some.</summary>
    public bool IsAround(Directive section) => Pass.Around.Contains(section) || section.Name.ToLowerInvariant() switch
    {
        "location" when section.First is "~" => Matches(section.Arguments.ElementAtOrDefault(1) ?? ""),
        "location" => IsBelow(_start, section.First ?? ""),
        "locationmatch" => Matches(section.First ?? ""),
        "ifmodule" => section.First is not ['!', ..],
        "virtualhost" or "ifversion" or "ifdefine" or "ifdirective" or "iffile" => true,
        "directory" or "directorymatch" or "files" or "filesmatch" => IsFile,
        // unix:/run/app.sock|fcgi://name
        "proxy" => section.First is "*" || target.StartsWith(section.First ?? "", StringComparison.Ordinal)
            || target.Split('|')[^1].StartsWith(section.First ?? "", StringComparison.Ordinal),
        "proxymatch" => TryMatch(section.First ?? "", target) is not false,
        _ => section.IsAny(s_conditions),
    };
}
