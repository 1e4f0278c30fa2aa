namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A place of a configuration that passes requests on. Each web server has its own places and rules.</summary>
internal abstract class Place(Directive pass)
{
    public const long UsualBody = 30_000_000;

    /// <summary>The longest silence of Blazor's and SignalR's long polls, in seconds.</summary>
    public const double LongestPoll = 90;

    public Directive Pass => pass;
    public virtual string Where => pass.Where;
    public virtual string Path => "/";
    public abstract string Description { get; }
    public abstract bool IsFastCgi { get; }

    /// <summary>Whether it uses uwsgi or SCGI, as copied configurations do.</summary>
    public virtual bool UsesOtherProtocol => false;
    public abstract IEnumerable<string> Targets { get; }

    /// <summary>All places of the configuration.</summary>
    public IReadOnlyList<Place> All { get; set; } = [];

    /// <summary>The group of addresses that share the requests.</summary>
    public virtual string Balancer => Where;
    public virtual string? User => null;
    public virtual HeadBuffer? HeadBuffer => null;

    /// <summary>The block of the site.</summary>
    public virtual object? Site => null;

    /// <summary>The path below which requests are passed, without the last slash; null for a pattern.</summary>
    public virtual string? Base => Path.TrimEnd('/');

    public bool IsBelowRoot => Base is ['/', ..];

    /// <summary>Whether the application also gets requests outside this path, so that it is no path base.</summary>
    public bool IsPartOfApplication => All.Any(other => other.IsFastCgi && other.Site == Site
        && other.EndPoints.Any(end => end is null || EndPoints.Contains(end) || EndPoints.Contains(null))
        && (other.Base is null || !(other.Base + "/").StartsWith(Base + "/", StringComparison.Ordinal)));

    /// <summary>Where the targets listen; <see langword="null"/> for what is unknown, such as a variable.</summary>
    private HashSet<string?> EndPoints => [.. Targets.Select(static target
        => FastCgiAddress.TryParse(target, out var address)
            ? address.EndPoint.ToString()!.Replace("Unspecified/localhost", "127.0.0.1", StringComparison.Ordinal)
                .Replace("[::1]", "127.0.0.1", StringComparison.Ordinal)
            : null)];

    /// <summary>Whether all files that may apply here were read. Otherwise, no line is known to be missing.</summary>
    public virtual bool IsWhole
        => !pass.Around.SelectMany(static block => block.Block).Any(static inner => inner.IsUnread);

    /// <summary>The mistake of sending HTTP to an application that speaks FastCGI, and its correction.</summary>
    public abstract (string Evidence, string? Consequence, string Line) HttpMistake { get; }

    public abstract void Apply(DoctorReport report);

    public static Seen LacksPathBase(Place place, string evidence, string line) => new(place.Where, evidence, line,
        $"the application sees paths that begin with {place.Base}, and returns 404 unless it expects them");

    public async Task InspectAsync(
        DoctorReport report, AddressInspector addresses, List<FastCgiAddress> sharing,
            CancellationToken cancellationToken)
    {
        if (IsFastCgi)
        {
            report.AddFact($"{Where}: {Description}");
            Apply(report);
        }
        else if (UsesOtherProtocol && !All.Any(static place => place.IsFastCgi))
        {
            report.Add("all.other-protocol", new(Where, pass.Text, HttpMistake.Line));
        }

        foreach (var target in Targets)
        {
            if (!FastCgiAddress.TryParse(target, out var address))
            {
                var isVariable = target.StartsWith('$') && !target.StartsWith("${", StringComparison.Ordinal);
                if (IsFastCgi && isVariable)
                    report.AddNotUnderstood($"{Where}: variables are not evaluated: {target}");
                else if (IsFastCgi)
                    report.AddNotUnderstood($"{Where}: '{target}' is not an address");
            }
            else if (IsFastCgi)
            {
                sharing.Add(address);
                await addresses.InspectAsync(
                    address, AddressInspector.FindAccounts(User), HeadBuffer, cancellationToken);
            }
            else if (await addresses.SpeaksFastCgiAsync(address, cancellationToken))
            {
                var (evidence, consequence, line) = HttpMistake;
                report.Add("address.http-to-fastcgi", new(Where, evidence, line, consequence));
            }
        }
    }
}

/// <summary>A web server's limit of response headers.</summary>
internal sealed record HeadBuffer(
    string WebServer, long Size, string Consequence, string Line, bool IsOfOneHeader = false)
{
    public static HeadBuffer OfNginx(long size) => new(
        "nginx", size, "nginx returns 502 and logs 'upstream sent too big header'",
        "fastcgi_buffer_size 16k;\nfastcgi_buffers 8 16k;");
}
