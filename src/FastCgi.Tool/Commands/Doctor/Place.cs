namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A place in a configuration that forwards requests. Each web server has its own places and rules.</summary>
internal abstract class Place(Directive pass)
{
    public const long UsualBody = 30_000_000;

    /// <summary>The longest silence of Blazor's and SignalR's long polls, in seconds.</summary>
    public const double LongestPoll = 90;

    private static readonly string[] s_methods = ["PUT", "DELETE", "PATCH"];

    /// <summary>A path of applications that looks like a hidden file.</summary>
    public const string WellKnown = "/.well-known/openid-configuration";

    /// <summary>Files of applications.</summary>
    public static readonly string[] Files = ["/css/site.css", "/js/app.js"];

    /// <summary>A pattern of all paths.</summary>
    public static readonly Regex Everything = new(@"^\^?/?\??(\(?\.[*+]\)?\$?)?$");

    public Directive Pass => pass;
    public virtual string Where => pass.Where;
    public virtual string Path => "/";
    public abstract string Description { get; }
    public abstract bool IsFastCgi { get; }

    /// <summary>Whether the place uses uwsgi or SCGI, as copied configurations do.</summary>
    public virtual bool UsesOtherProtocol => false;
    public abstract IEnumerable<string> Targets { get; }
    public WebServer Server { get; set; } = null!;

    /// <summary>All places of the configuration.</summary>
    public IReadOnlyList<Place> All { get; set; } = [];

    public virtual string? User => null;
    public virtual HeadBuffer? HeadBuffer => null;

    /// <summary>The block of the site.</summary>
    public virtual object? Site => null;

    /// <summary>The path below which requests are passed, without the last slash; null for a pattern.</summary>
    public virtual string? Base => Path.TrimEnd('/');

    public bool IsBelowRoot => Base is ['/', ..];

    /// <summary>Whether the application also gets requests outside this path, so that it is not a path base.</summary>
    public bool IsPartOfApplication => All.Any(other => other.IsFastCgi && other.Site == Site
        && other.EndPoints.Any(end => end is null || EndPoints.Contains(end) || EndPoints.Contains(null))
        && (other.Base is null || !IsBelow(other.Base, Base ?? "")));

    /// <summary>Whether the web server can connect to an abstract socket of the application.</summary>
    public virtual bool ReachesAbstract => false;

    /// <summary>The addresses of the targets; <see langword="null"/> if unknown, such as a variable.</summary>
    private HashSet<string?> EndPoints => [.. Targets.Select(static target
        => FastCgiAddress.TryParse(target, out var address)
            ? address.EndPoint.ToString()!.Replace("Unspecified/localhost", "127.0.0.1", StringComparison.Ordinal)
                .Replace("[::1]", "127.0.0.1", StringComparison.Ordinal)
            : null)];

    /// <summary>Whether all files that may apply here were read. Otherwise, no line is known to be missing.</summary>
    public virtual bool IsWhole
        => !pass.Around.SelectMany(static block => block.Block).Any(static inner => inner.IsUnread);

    /// <summary>Whether the web server passes requests for a path to this place, unless a line refuses them.</summary>
    public virtual bool Gets(string path) => IsBelow(path, Base ?? "");

    /// <summary>Other spellings of a path that the application accepts.</summary>
    public virtual IEnumerable<string> Respell(string path)
    {
        var start = Base is { } own && IsBelow(path, own) ? own : "";
        yield return start + path[start.Length..].ToUpperInvariant();
        yield return path.EndsWith('/') ? path.TrimEnd('/') : path + "/";
    }

    /// <summary>The spelling with an escaped letter, which some tests do not decode.</summary>
    protected static string Escape(string path)
        => Regex.Replace(path, @"(?<=/)\w(?=[^/]*/?$)", static letter => Uri.HexEscape(letter.Value[0]));

    /// <summary>Finds lines that refuse methods of APIs.</summary>
    public static IEnumerable<Seen> FindRefused(Func<string, Directive?> find)
        => from method in s_methods
           let line = find(method)
           // Not all requests of strangers.
           where line is not null && line != find("GET")
           group method by line into refused
           select new Seen(refused.Key.Where, refused.Key.Text,
               $"requests with {string.Join(", ", refused)} do not reach the application");

    /// <summary>Whether a path is the given one or below it.</summary>
    public static bool IsBelow(string? path, string start)
        => $"{path}/".StartsWith(start.TrimEnd('/') + "/", StringComparison.Ordinal);

    /// <returns>Whether any text matches; <see langword="null"/> for a pattern that only PCRE understands.</returns>
    public static bool? TryMatch(string pattern, params string[] texts)
    {
        try
        {
            var regex = new Regex(pattern, RegexOptions.CultureInvariant, TimeSpan.FromSeconds(1));
            return texts.Any(regex.IsMatch);
        }
        catch (Exception exception) when (exception is ArgumentException or RegexMatchTimeoutException)
        {
            return null;
        }
    }

    /// <summary>The lines that pass requests to an application with FastCGI.</summary>
    public abstract string FastCgiLines { get; }

    public IEnumerable<Seen> See(bool isSeen, string text) => isSeen ? [new(Where, text)] : [];

    /// <summary>Finds targets that are abstract sockets.</summary>
    public IEnumerable<Seen> FindAbstract() => Targets.Where(IsUnreachable)
        .Select(target => new Seen(Where, $"{target} is the name of an abstract socket"));

    public async Task InspectAsync(DoctorReport report, AddressInspector addresses)
    {
        if (IsFastCgi)
        {
            report.AddFact($"{Where}: {Description}");
            RuleList.Apply(report, this);
        }
        else if (UsesOtherProtocol && !All.Any(static place => place.IsFastCgi))
        {
            report.Add(AddressRules.OtherProtocol, new(Where, pass.Text, Fix: FastCgiLines));
        }

        foreach (var target in Targets.Where(target => !IsUnreachable(target)))
        {
            if (!FastCgiAddress.TryParse(target, out var address))
            {
                if (IsFastCgi)
                    report.AddNotUnderstood(target is ['$', not '{', ..]
                        ? $"{Where}: variables are not evaluated: {target}"
                        : $"{Where}: '{target}' is not an address");
            }
            else if (IsFastCgi)
            {
                await addresses.InspectAsync(address, User, HeadBuffer);
            }
            else if (await addresses.SpeaksFastCgiAsync(address))
            {
                report.Add(AddressRules.OtherProtocol,
                    new(Where, $"{pass.Text}, but the application there speaks FastCGI", Fix: FastCgiLines));
            }
        }
    }

    /// <summary>Whether the web server cannot connect to the application's abstract socket.</summary>
    private bool IsUnreachable(string target)
        => IsFastCgi && !ReachesAbstract && target.StartsWith("unix:@", StringComparison.Ordinal);
}

/// <summary>A web server's limit of all response headers, or of one, with the effect and the fix.</summary>
internal sealed record HeadBuffer(long Size, string Server, string Effect, string Fix, bool IsOfOneHeader = false)
{
    /// <summary>For an address, the default of nginx.</summary>
    public static HeadBuffer OfNginx(long size)
        => new(size, "nginx", "nginx returns 502 and logs 'upstream sent too big header'",
            RuleTexts.LargerNginxBuffers);
}
