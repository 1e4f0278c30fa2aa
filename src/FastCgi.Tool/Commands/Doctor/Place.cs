namespace FastCgi.Tool.Commands.Doctor;

/// <summary>A place of a configuration that passes requests on. Each web server has its own places and rules; the rest of the checks is common.</summary>
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
    public abstract IEnumerable<string> Targets { get; }

    /// <summary>What has several addresses that share the requests.</summary>
    public virtual string Balancer => Where;
    public virtual string? User => null;
    public virtual HeadBuffer? HeadBuffer => null;

    /// <summary>How HTTP is sent to an application that speaks FastCGI, and what to write instead.</summary>
    public abstract (string Evidence, string? Consequence, string Line) HttpMistake { get; }

    public abstract void Apply(DoctorReport report);

    public static IEnumerable<Seen> If(Directive? directive) => directive is null ? [] : [new(directive.Where, directive.Text)];

    public static Seen LacksPathBase(string where, string evidence, string path, string line)
        => new(where, evidence, line, $"the application sees paths that begin with {path}, and returns 404 unless it expects them");

    public async Task InspectAsync(DoctorReport report, AddressInspector addresses, List<FastCgiAddress> sharing, CancellationToken cancellationToken)
    {
        if (IsFastCgi)
        {
            report.AddFact($"{Where}: {Description}");
            Apply(report);
        }

        foreach (var target in Targets)
        {
            if (!FastCgiAddress.TryParse(target, out var address))
            {
                if (IsFastCgi)
                    report.AddNotUnderstood(target.StartsWith('$') && !target.StartsWith("${", StringComparison.Ordinal)
                        ? $"{Where}: variables are not evaluated: {target}" : $"{Where}: '{target}' is not an address");
            }
            else if (IsFastCgi)
            {
                sharing.Add(address);
                await addresses.InspectAsync(address, AddressInspector.FindAccounts(User), HeadBuffer, cancellationToken);
            }
            else if (await addresses.SpeaksFastCgiAsync(address, cancellationToken))
            {
                var (evidence, consequence, line) = HttpMistake;
                report.Add("address.http-to-fastcgi", Where, evidence, line, consequence);
            }
        }
    }
}

/// <summary>A web server's limit of response headers.</summary>
internal sealed record HeadBuffer(string WebServer, long Size, string Consequence, string Line, bool IsOfOneHeader = false)
{
    public static HeadBuffer OfNginx(long size) => new(
        "nginx", size, "nginx returns 502 and logs 'upstream sent too big header'", "fastcgi_buffer_size 16k;\nfastcgi_buffers 8 16k;");
}
