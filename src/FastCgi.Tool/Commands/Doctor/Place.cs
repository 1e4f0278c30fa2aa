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

    /// <summary>The group of addresses that share the requests.</summary>
    public virtual string Balancer => Where;
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

    /// <summary>The rule about a protocol other than FastCGI, which the application speaks.</summary>
    public virtual string HttpMistake => "http-to-fastcgi";

    /// <summary>A placeholder in rule texts, such as <c>{path}</c>.</summary>
    public virtual string? GetWord(string name) => name switch
    {
        "where" => Where,
        "line" => $"{pass.Line}",
        "text" => pass.Text,
        "name" => pass.Name,
        "pass" => pass.First,
        "path" => Path,
        "base" => Base,
        "target" => Targets.FirstOrDefault(""),
        _ => null,
    };

    /// <summary>Finds lines that refuse methods of APIs.</summary>
    public static IEnumerable<Seen> FindRefused(Func<string, Directive?> find)
        => from method in s_methods
           let line = find(method)
           // Not all requests of strangers.
           where line is not null && line != find("GET")
           group method by line into refused
           select new Seen(refused.Key.Where, refused.Key.Text, string.Join(", ", refused));

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

    public async Task InspectAsync(DoctorReport report, AddressInspector addresses, List<FastCgiAddress> sharing)
    {
        if (IsFastCgi)
        {
            report.AddFact($"{Where}: {Description}");
            Server.Apply(report, this);
        }
        else if (UsesOtherProtocol && !All.Any(static place => place.IsFastCgi))
        {
            report.Add($"{Server.Name}.other-protocol", new(Where), this);
        }

        foreach (var target in Targets)
        {
            if (IsFastCgi && !ReachesAbstract && target.StartsWith("unix:@", StringComparison.Ordinal))
            {
                report.Add($"{Server.Name}.abstract-socket", new(Where, target), this);
            }
            else if (!FastCgiAddress.TryParse(target, out var address))
            {
                if (IsFastCgi)
                    report.AddNotUnderstood(target is ['$', not '{', ..]
                        ? $"{Where}: variables are not evaluated: {target}"
                        : $"{Where}: '{target}' is not an address");
            }
            else if (IsFastCgi)
            {
                sharing.Add(address);
                await addresses.InspectAsync(address, User, HeadBuffer);
            }
            else if (await addresses.SpeaksFastCgiAsync(address))
            {
                report.Add($"{Server.Name}.{HttpMistake}", new(Where), this);
            }
        }
    }
}

/// <summary>A web server's limit of all response headers, or of one, and the rule about it.</summary>
internal sealed record HeadBuffer(string Rule, long Size, bool IsOfOneHeader = false);
