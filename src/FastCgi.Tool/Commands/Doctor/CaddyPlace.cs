namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A directive of Caddy that forwards requests.</summary>
internal sealed class CaddyPlace(Directive pass, Directive root) : Place(pass)
{
    private static readonly string[] s_passes = ["reverse_proxy", "php_fastcgi", "forward_auth"];

    public static Rule<CaddyPlace>[] Rules { get; } =
    [
        new("caddy.client-chosen.balancer", CaddyTrust.FindBalancer),
        new("caddy.client-chosen.parameter", CaddyTrust.FindChosen),
        new("caddy.scheme-constant", CaddyTrust.FindConstantScheme),
        new("caddy.cookies-hidden", place => place.SiteLines.FirstOrDefault(static line
            => (line.Is("header_down") || line.Is("header")) && line.Arguments is [.., "-Set-Cookie"])),
        new("caddy.php-fastcgi", place => place.Pass.Is("php_fastcgi")
            && !place.Targets.Any(static target => target.Contains("php", StringComparison.OrdinalIgnoreCase))),
        new("caddy.posts-repeated", place => place.Pass.All.FirstOrDefault(line
            => (line.Is("method") || line.Is("lb_retry_match", "method")) && line.Arguments.Contains("POST")
            && (line.Is("lb_retry_match") || line.FindAround("lb_retry_match") is not null))),
        new("caddy.auth-request", place => place.IsGuard && !place.SetsTarget),
        new("caddy.error-page", place => !place.SetsTarget, place => place.Pass.FindAround("handle_errors")),
        new("caddy.rewrite-unseen", place => !place.SetsTarget && !place.IsGuard, place => place.Rewrite),
        new("caddy.underscores.trusted", place => !place.DropsUnderscores, place => place.TrustedHeader),
        new("caddy.underscores.other", place
            => place is { DropsUnderscores: false, TrustedHeader: null, IsWhole: true }),
    ];

    public override bool IsFastCgi => Pass.Is("php_fastcgi") || Transport is not null;
    public override bool ReachesAbstract => true;
    public override string Description => Pass.Text;
    public override bool IsWhole => !root.All.Any(static line => line.IsUnread);

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
    public IEnumerable<string> SiteNames => Site.Arguments.Prepend(Site.Name);
    public IEnumerable<Directive> AllLines => root.All;
    public IEnumerable<Directive> Parameters => (Transport ?? Pass).Block.Where(static line => line.Is("env"));

    private Directive? Transport => Pass.Find("transport", "fastcgi");
    private bool SetsTarget => (Transport ?? Pass).Find("env", "REQUEST_URI") is not null;

    /// <summary>Whether the response of the place decides whether to allow the request.</summary>
    private bool IsGuard => Pass.Is("forward_auth")
        || (Pass.Find("rewrite") is not null && Pass.Find("handle_response") is not null);

    /// <summary>The block of the site, or of a snippet that sites import.</summary>
    private new Directive Site => Pass.Around.Reverse().Skip(1).FirstOrDefault(root);

    private Directive? Rewrite => Pass.Around
        .Select(static block => block.Is("handle_path")
            ? block
            : block.Block.Find(static line => line.Is("rewrite") || line.Is("uri")))
        .FirstOrDefault(static line => line is not null);

    /// <summary>Only <c>request_header</c> sees the headers as the client sent them.</summary>
    private bool DropsUnderscores => SiteLines
        .Any(static line => line.Is("request_header", "-*_*"));

    /// <summary>A line that sets a header, which the application may trust.</summary>
    private Directive? TrustedHeader => Site.All.FirstOrDefault(static line => line.Is("copy_headers")
        || ((line.Is("header_up") || line.Is("request_header"))
        && line.Arguments is [not ['-' or '?', ..] and not "Host", _, ..]));

    public static IEnumerable<Place> Find(DoctorReport report, string file, string text)
    {
        var root = new CaddyReader(report, file).Read(text);
        var imported = root.All.Where(static line => line.Is("import"))
            .Select(static line => $"({line.First})").ToList();
        return root.All.Where(static line => s_passes.Any(pass => line.Is(pass)))
            .Where(line => !line.Around.Any(block => imported.Contains(block.Name)))
            .Select(pass => new CaddyPlace(pass, root))
            .OrderBy(static place => !place.IsFastCgi);
    }
}
