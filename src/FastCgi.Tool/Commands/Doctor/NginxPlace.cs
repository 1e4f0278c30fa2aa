namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A <c>fastcgi_pass</c> of nginx, or a directive that passes requests with another protocol.</summary>
internal sealed class NginxPlace(Directive pass, Directive root) : Place(pass)
{
    /// <summary>The value of a variable whose way is followed.</summary>
    public const char Mark = '\uE003';

    private static readonly Regex s_timePart = new(@"\G\d+[a-z]*\s*");
    private static readonly string[] s_checks = ["auth_basic", "auth_request", "auth_jwt"];
    private static readonly string[] s_passes = ["fastcgi_pass", "uwsgi_pass", "scgi_pass", "proxy_pass"];

    public override bool IsFastCgi => Pass.Is("fastcgi_pass");
    public override bool UsesOtherProtocol => Pass.IsAny("uwsgi_pass", "scgi_pass");
    public override string? User => root.Find("user")?.First;
    public override string? Base => Prefix?.TrimEnd('/');
    public override object? Site => Pass.FindAround("server");
    public override HeadBuffer HeadBuffer => HeadBuffer.OfNginx(GetSize("fastcgi_buffer_size", 4096));

    public override string Description
        => $"{(Location.Length > 0 ? $"location {string.Join(' ', Location)}, " : "")}fastcgi_pass {Pass.First}";

    /// <summary>The addresses of an upstream, or the address itself.</summary>
    public override IEnumerable<string> Targets => Url switch
    {
        ["http" or "https", ['u', 'n', 'i', 'x', ':', .. var socket]] => ["unix:" + socket.Split(':')[0]],
        ["http" or "https", var rest] => [rest.Split('/')[0]],
        _ => Upstream?.Block.Where(static server => server.First is not null && server.Is("server")
            && !server.Arguments.Contains("down")).Select(static server => server.First!) ?? [Pass.First!],
    };

    /// <summary>The limit of a request body; 0 for none.</summary>
    public long BodyLimit => GetSize("client_max_body_size", 1 << 20);

    /// <summary>Gets a time in seconds, such as <c>2m</c> or <c>1h 30m</c>.</summary>
    public double ReadTimeout => s_timePart.Matches(Get("fastcgi_read_timeout")?.First ?? "")
        .Select(static part => Measure(part.Value.Trim(), 0, static unit
            => unit switch { "ms" => 0.001, "m" => 60, "h" => 3600, "d" => 86400, "w" => 604800, _ => 1 }))
        .DefaultIfEmpty(60).Sum();

    public override string FastCgiLines => $"include fastcgi_params;\nfastcgi_pass {Targets.FirstOrDefault("")};";

    public string[] Location => Pass.FindAround("location")?.Arguments ?? [];

    /// <summary>The path of a location that is a prefix.</summary>
    public string? Prefix => Location is [['/', ..]] or ["^~", _] ? Location[^1] : null;

    public IReadOnlyList<Directive> Parameters { get; } = pass.GetInnermost("fastcgi_param");

    public bool LacksParameters => IsWhole && Set("REQUEST_METHOD") is null;
    public string? PathBase => Set("PATH_BASE")?.Arguments[1];

    /// <summary>Whether nginx sets headers, whose values the application may trust.</summary>
    public bool SetsHeaders => Parameters.Any(static parameter => parameter.First is not "HTTP_HOST"
        && parameter.First?.StartsWith("HTTP_", StringComparison.Ordinal) == true);

    /// <summary>The <c>auth_request</c> that queries this place.</summary>
    public Directive? Guarded => InServer("auth_request").FirstOrDefault(guard => Serves(guard.First ?? ""));

    public bool IsGuard => Guarded is not null;
    public bool IsCached => GetUnless("fastcgi_cache", "off") is not null;

    /// <summary>The values of variables for a stranger.</summary>
    public NginxValues Values => field ??= Read(static _ => null);

    /// <summary>The networks whose addresses for clients nginx trusts.</summary>
    public IReadOnlyList<Directive> Balancers { get; } = pass.GetInnermost("set_real_ip_from");

    /// <summary>Whether clients' addresses arrive in the PROXY protocol.</summary>
    public bool AcceptsProxy => Listens.Any(static listen => listen.Arguments.Contains("proxy_protocol"));

    public bool TrustsEverybody => Stranger.AreEverybody(Balancers.Select(static line => line.First ?? ""));

    public IEnumerable<Directive> Listens => Pass.GetAll("listen");
    public Directive? Tls => Listens.FirstOrDefault(IsTls);
    public bool HasUpstream => Upstream is not null;
    public Directive? Keepalive => Upstream?.Find("keepalive");

    // http://unix:/path:/ or http://name/
    private string[] Url => Pass.First!.Split("://", 2);

    private Directive? Upstream => Blocks.LastOrDefault(block => block.Is("upstream", Pass.First!));

    private IEnumerable<Directive> Blocks
        => root.Block.Concat(root.Block.Where(static inner => inner.Is("http")).SelectMany(static http => http.Block));

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = NginxReader.Read(report, file, text);
        return root.All.Where(static inner => inner.First is not null && IsPass(inner))
            .OrderBy(static inner => Array.IndexOf(s_passes, inner.Name)).Select(pass => new NginxPlace(pass, root));
    }

    public static bool IsTls(Directive listen) => listen.Arguments.Intersect(["ssl", "quic"]).Any();

    public Directive? Get(string name) => Pass.Get(name);

    /// <summary>Whether no line sets a directive.</summary>
    public bool HasDefault(string name) => IsWhole && Get(name) is null;

    /// <summary>The directive in effect, unless it has this value.</summary>
    public Directive? GetUnless(string name, string value)
        => Get(name) is { } line && line.First != value ? line : null;

    /// <summary>The directive in effect, if it has this value.</summary>
    public Directive? Get(string name, string value)
        => Get(name) is { } directive && directive.First == value ? directive : null;

    /// <summary>The directives that apply to the server of this place, in any of its blocks.</summary>
    public IEnumerable<Directive> InServer(params string[] names)
        => root.All.Where(inner => names.Contains(inner.Name) && inner.FindAround("server") is var server
        && (server is null || server == Site));

    public IEnumerable<string> GetParameter(string name)
        => Parameters.Where(parameter => parameter.First == name && parameter.Arguments.Length > 1)
            .Select(static parameter => parameter.Arguments[1]);

    /// <summary>The last line that sets a parameter.</summary>
    public Directive? Set(string name)
        => Parameters.LastOrDefault(parameter => parameter.First == name && parameter.Arguments.Length > 1);

    /// <summary>The last line that sets a parameter, if it has this value.</summary>
    public Directive? Set(string name, string value) => Set(name) is { } set && set.Arguments[1] == value ? set : null;

    /// <summary>The lines that set a parameter: the last one, and others before it if that may be empty.</summary>
    public IEnumerable<Directive> Effective(string name)
    {
        var lines = Parameters.Where(line => line.First == name && line.Arguments.Length > 1).Reverse().ToList();
        var last = lines.FindIndex(static line => line.Arguments is not [_, _, "if_not_empty"]);
        return last < 0 ? lines : lines[..(last + 1)];
    }

    /// <summary>Whether a parameter has a variable of the client's request, or one that has its value.</summary>
    public bool PassesOriginal(string name, string original) => Set(name)?.Arguments[1] is { } value && Contains(
        value, variable => variable == original ? $"{Mark}" : null);

    public Directive? FindIgnored(string header) => Get("fastcgi_ignore_headers") is { } ignored
        && ignored.Arguments.Contains(header, StringComparer.OrdinalIgnoreCase) ? ignored : null;

    /// <summary>Whether a text contains a variable, whose value is a mark.</summary>
    public bool Contains(string text, Func<string, string?> known) => Read(known).Get(text).Has(Mark);

    /// <param name="known">The values of variables in a certain request; null for others.</param>
    public NginxValues Read(Func<string, string?> known) => new(
        Pass, InServer("set", "if"), Blocks.Where(static block => block.IsAny("map", "geo")),
        name => known(name) ?? name switch
        {
            "http_host" => $"{NginxValues.Open}",
            "remote_addr" or "binary_remote_addr" when TrustsEverybody => $"{NginxValues.Client}",
            _ => null,
        });

    /// <summary>Whether nginx passes a URI, or requests for a named location, to this place.</summary>
    public bool Serves(string uri) => Pass.FindAround("server") is { } server
        && Pass.FindAround("location") is { } own && NginxLocations.Find(server, uri).Contains(own);

    public override bool Gets(string path) => Serves(Uri.UnescapeDataString(path));

    public override IEnumerable<string> Respell(string path) => base.Respell(path).Append(Escape(path));

    /// <summary>Whether a parameter is not passed, although others are.</summary>
    public bool Lacks(string name) => IsWhole && !LacksParameters && Set(name) is null;

    /// <summary>Finds the line that passes a changed URL, unless a guard or a page for errors needs it.</summary>
    public Directive? FindRewrittenTarget()
        => !IsGuard && !InServer("error_page").Any(page => Serves(page.Arguments.LastOrDefault("")))
            && Set("REQUEST_URI") is { } line && Contains(line.Arguments[1], static name => name switch
            {
                "uri" or "document_uri" or "fastcgi_script_name" or "fastcgi_path_info" => $"{Mark}",
                _ => null,
            })
            ? line
            : null;

    public bool LacksPathBase => IsWhole && PathBase is null && Get("fastcgi_split_path_info") is null
        && !IsPartOfApplication && IsBelowRoot
        && InServer("try_files").All(files => files.Arguments.LastOrDefault() != Prefix);

    /// <summary>Whether a directive authenticates the user.</summary>
    public bool ChecksUser => HasCertificate
        ? Get("ssl_verify_client")?.First is "on" or "optional"
        : s_checks.Any(check => GetUnless(check, "off") is not null)
            && (Get("satisfy", "any") is null || Pass.GetInnermost("allow", "deny").Count == 0);

    /// <summary>Whether the user is that of a client certificate.</summary>
    public bool HasCertificate => Set("REMOTE_USER")?.Arguments[1].Contains("ssl_client_") == true;

    /// <summary>Finds the line that passes headers with underscores, and the line that drops them.</summary>
    public IEnumerable<Seen> FindUnderscores()
    {
        var (on, off) = (Get("underscores_in_headers", "on"), Get("ignore_invalid_headers", "off"));
        return on is not null
            ? [new(on.Where, on.Text, Fix: "underscores_in_headers off;")]
            : off.See().Select(static seen => seen with { Fix = "ignore_invalid_headers on;" });
    }

    public IEnumerable<Seen> FindGuard(string parameter, string original)
        => See(Guarded is not null && PassesOriginal(parameter, original),
            $"it is the target of '{Guarded?.Text}' ({Guarded?.Where}), and passes ${original}");

    /// <summary>Finds pages for errors that the application serves, although it gets the URL that failed.</summary>
    public IEnumerable<Seen> FindErrorPages(bool isRefused)
        => from page in InServer("error_page")
           where page.Arguments.Length > 1 && isRefused == page.Arguments.Intersect(["401", "403"]).Any()
               && Serves(page.Arguments[^1]) && (isRefused || !NginxReach.IsOfScripts(this))
           let isNamed = page.Arguments[^1][0] == '@'
           where PassesOriginal("REQUEST_URI", "request_uri") || (isNamed && PassesOriginal("REQUEST_URI", "uri"))
           // A named location usually serves the requests that match no file.
           where !isNamed || (isRefused && root.All.Any(line => NginxReach.IsGuard(line)
               && (line.Around.Contains(page.Parent) || page.Around.Contains(line.Parent))))
           select new Seen(page.Where, $"the application serves '{page.Text}'",
               Fix: isNamed ? "fastcgi_param REQUEST_URI /refused;" : null);

    /// <summary>Finds a <c>rewrite</c> that changes the URL without redirecting the client.</summary>
    public Directive? FindUnseenRewrite()
        => NginxReach.IsOfScripts(this) || !PassesOriginal("REQUEST_URI", "request_uri") ? null
        : InServer("rewrite").FirstOrDefault(static rewrite
            => rewrite.Arguments is [_, ['/', ..] or ['$', not 's', ..], ..]
                && rewrite.Arguments[^1] is not ("redirect" or "permanent"));

    /// <summary>Finds a port of HTTP/3 without a host that the application sees.</summary>
    public IEnumerable<Seen> FindQuicWithoutHost()
        => !IsWhole || LacksParameters || Get("http3", "off") is not null
            || GetParameter("HTTP_HOST").Any(static value => value.Trim('$', '{', '}') is not ("" or "http_host"))
            ? []
            : Listens.FirstOrDefault(static listen => listen.Arguments.Contains("quic"))
                .See(static listen => $"{listen.Text}, but HTTP_HOST is not passed from $host");

    public IEnumerable<Seen> FindHostsWithoutPort()
    {
        var host = GetParameter("HTTP_HOST").LastOrDefault(static value => value.Length > 0);
        if (host is not ("$host" or "$server_name") || Set("SERVER_PORT", "443") is not null)
            return [];

        return Listens.Where(static listen => GetPort(listen) is not (80 or 443 or 0)).See(
            listen => $"clients use port {GetPort(listen)}, but HTTP_HOST is {host}, without a port");
    }

    /// <summary>Finds a trusted load balancer whose scheme is not passed.</summary>
    public IEnumerable<Seen> FindTrustedBalancer()
    {
        if (LacksParameters || Tls is not null
            || Balancers is not [var balancer, ..]
            || GetParameter("HTTPS").Any(static value => value != "$https")
            || GetParameter("REQUEST_SCHEME").Any(static value => value != "$scheme"))
            return [];
        return [new(Where, $"a load balancer is trusted ({balancer.Where}), but HTTPS and REQUEST_SCHEME describe its "
            + "connection")];
    }

    /// <summary>A size in bytes, such as <c>16k</c>.</summary>
    public long GetSize(string name, long usual) => (long)Measure(Get(name)?.First, usual, static unit
        => unit switch { "k" or "K" => 1L << 10, "m" or "M" => 1L << 20, "g" or "G" => 1L << 30, _ => 1 });

    public static double Measure(string? text, double usual, Func<string, double> getFactor)
    {
        var digits = (text ?? "").TrimEnd([.. "abcdefghijklmnopqrstuvwxyzKMG"]);
        return double.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number * getFactor(text![digits.Length..])
            : usual;
    }

    /// <returns>0 for a socket.</returns>
    private static int GetPort(Directive listen)
    {
        var end = (listen.First ?? "").Split(':');
        if (end is ["unix", _, ..])
            return 0;
        return int.TryParse(end[^1], CultureInfo.InvariantCulture, out var port) ? port : 80;
    }

    public static bool IsPass(Directive inner) => inner.IsAny(s_passes);
}
