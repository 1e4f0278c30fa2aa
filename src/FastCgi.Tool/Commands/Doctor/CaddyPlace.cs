namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A directive of Caddy that forwards requests.</summary>
internal sealed class CaddyPlace(Directive pass, Directive root) : Place(pass)
{
    private static readonly string[] s_passes = ["reverse_proxy", "php_fastcgi", "forward_auth"];

    public override bool IsFastCgi => Pass.Is("php_fastcgi") || Transport is not null;
    public override bool ReachesAbstract => true;
    public override string FastCgiLines => "transport fastcgi";
    public override string Description => Pass.Text;
    public override bool IsWhole => !root.All.Any(static line => line.IsUnread);

    public override bool Gets(string path) => CaddyTrust.Gets(this, path);

    /// <summary>The addresses of the line, without its matcher, and those of its block.</summary>
    public override IEnumerable<string> Targets
        => Pass.Arguments.Skip(Pass.First is "*" or ['/' or '@', ..] ? 1 : 0)
            .Concat(Pass.Block.Where(static line => line.Is("to")).SelectMany(static line => line.Arguments))
            .Select(static address => address switch
            {
                ['u', 'n', 'i', 'x', '/', '@', .. var name] => "unix:@" + name,
                ['u', 'n', 'i', 'x', '/', .. var path] => path,
                _ => address,
            });

    /// <summary>The lines of the site, or of all sites that may import the snippet.</summary>
    public IEnumerable<Directive> SiteLines => (Site.Name.StartsWith('(') ? root : Site).All;

    /// <summary>The lines of the blocks around the place.</summary>
    public IEnumerable<Directive> Beside => Pass.Around.Reverse().SelectMany(static block => block.Block);

    public bool IsPlain => Site.Arguments.Prepend(Site.Name).Any(static name
        => name.StartsWith("http://", StringComparison.Ordinal) || Regex.IsMatch(name, @":80,?$"));

    public IEnumerable<Directive> AllLines => root.All;
    public IEnumerable<Directive> Parameters => (Transport ?? Pass).Block.Where(static line => line.Is("env"));

    private Directive? Transport => Pass.Find("transport", "fastcgi");
    public bool SetsTarget => (Transport ?? Pass).Find("env", "REQUEST_URI") is not null;

    /// <summary>Whether the response of the place decides whether to allow the request.</summary>
    public bool IsGuard => Pass.Is("forward_auth")
        || (Pass.Find("rewrite") is not null && Pass.Find("handle_response") is not null);

    /// <summary>The block of the site, or of a snippet that sites import.</summary>
    private new Directive Site => Pass.Around.Reverse().Skip(1).FirstOrDefault(root);

    public Directive? Rewrite => Pass.Around
        .Select(static block => block.Is("handle_path")
            ? block
            : block.Block.Find(static line => line.Is("rewrite") || line.Is("uri")))
        .FirstOrDefault(static line => line is not null);

    /// <summary>Only <c>request_header</c> sees the headers as the client sent them.</summary>
    public bool DropsUnderscores => SiteLines
        .Any(static line => line.Is("request_header", "-*_*"));

    /// <summary>A line that sets a header, which the application may trust.</summary>
    public Directive? TrustedHeader => Site.All.FirstOrDefault(static line => line.Is("copy_headers")
        || ((line.Is("header_up") || line.Is("request_header"))
        && line.Arguments is [not ['-' or '?', ..] and not "Host", _, ..]));

    /// <summary>The line that asks clients for certificates in one of these modes.</summary>
    public Directive? FindClientAuth(params string[] modes) => SiteLines.FirstOrDefault(line => line.Is("client_auth")
        && modes.Contains(line.Find("mode")?.First ?? "require_and_verify"));

    /// <summary>Finds a user of a certificate that Caddy does not verify.</summary>
    public Directive? FindUnverified() => FindClientAuth("request", "require") is null ? null
        : Parameters.FirstOrDefault(static line => Regex.IsMatch(line.Text, @"^env REMOTE_USER \S*tls[._]client"));

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new CaddyReader(report, file).Read(text);
        var imported = root.All.Where(static line => line.Is("import"))
            .Select(static line => $"({line.First})").ToList();
        return root.All.Where(static line => line.IsAny(s_passes))
            .Where(line => !line.Around.Any(block => imported.Contains(block.Name)))
            .Select(pass => new CaddyPlace(pass, root))
            .OrderBy(static place => !place.IsFastCgi);
    }
}
