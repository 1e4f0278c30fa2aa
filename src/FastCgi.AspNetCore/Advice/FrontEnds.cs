namespace FastCgi.AspNetCore.Advice;

/// <summary>A bounded number of web servers. Samples the first request of a connection, once per second.</summary>
internal sealed class FrontEnds(TimeProvider time)
{
    private const int MaxCount = 16;
    private const string Unknown = "(SERVER_SOFTWARE is not passed)";

    private readonly Lock _lock = new();
    private readonly Dictionary<string, FrontEnd> _frontEnds = new(StringComparer.Ordinal);
    private long _lastSample = long.MinValue;
    private long _otherSamples;

    public long OtherSamples => Interlocked.Read(ref _otherSamples);

    /// <summary>Whether a web server may drop Authorization: challenged requests lacked it, and none had it.</summary>
    public bool AwaitsAuthorization { get; private set; }

    public bool TryAcquire(long now)
    {
        var last = Volatile.Read(ref _lastSample);
        return now != last && Interlocked.CompareExchange(ref _lastSample, now, last) == last;
    }

    public void Sample(string? software, RequestParameters parameters, bool keepsConnection)
    {
        var sample = FrontEnd.Sample(software ?? Unknown, parameters, keepsConnection, time.GetUtcNow());
        using (_lock.Acquire())
        {
            if (_frontEnds.TryGetValue(sample.Software, out var frontEnd))
                _frontEnds[sample.Software] = frontEnd.Add(sample);
            else if (_frontEnds.Count < MaxCount)
                _frontEnds.Add(sample.Software, sample);
            else
                Interlocked.Increment(ref _otherSamples);
        }
    }

    public void NoteAuthorization(string software, bool isPassed)
    {
        using (_lock.Acquire())
        {
            if (_frontEnds.TryGetValue(software, out var frontEnd))
                _frontEnds[software] = frontEnd.NoteAuthorization(isPassed);
            AwaitsAuthorization = _frontEnds.Values.Any(
                static frontEnd => frontEnd is { Challenges: > 0, PassesAuthorization: false }
                    && FrontEndLines.Authorization(frontEnd.Software) is not null);
        }
    }

    public IReadOnlyList<FrontEnd> GetAll()
    {
        using (_lock.Acquire())
            return [.. _frontEnds.Values];
    }
}

/// <summary>A web server. The counts are of samples: first requests of connections, one per second.</summary>
internal sealed record FrontEnd(string Software, DateTimeOffset LastSeen)
{
    public long Samples { get; init; }
    public long KeepConnection { get; init; }
    public long WithScheme { get; init; }

    /// <summary>The number of requests apparently over TLS, without HTTPS and REQUEST_SCHEME.</summary>
    public long WithoutScheme { get; init; }
    public long WithTarget { get; init; }

    /// <summary>The number of requests without HTTP_HOST, except HTTP/1.0, which requires no host.</summary>
    public long WithoutHost { get; init; }
    public long WithClient { get; init; }
    public long WithUser { get; init; }
    public bool PassesAuthorization { get; init; }

    /// <summary>The number of requests without Authorization that got a challenge.</summary>
    public long Challenges { get; init; }

    public static FrontEnd Sample(
        string software, RequestParameters parameters, bool keepsConnection, DateTimeOffset now)
    {
        var hasScheme = Has("HTTPS") || Has("REQUEST_SCHEME");
        var isBehindTls = parameters.GetVariable("SERVER_PORT") == "443"
            || Uri.UriSchemeHttps.Equals(
                parameters.GetVariable("HTTP_X_FORWARDED_PROTO"), StringComparison.OrdinalIgnoreCase);
        return new FrontEnd(software, now)
        {
            Samples = 1,
            KeepConnection = Count(keepsConnection),
            WithScheme = Count(hasScheme),
            WithoutScheme = Count(isBehindTls && !hasScheme),
            WithTarget = Count(Has("REQUEST_URI")),
            WithoutHost = Count(!Has("HTTP_HOST") && parameters.GetVariable("SERVER_PROTOCOL") != "HTTP/1.0"),
            WithClient = Count(Has("REMOTE_ADDR")),
            WithUser = Count(Has("REMOTE_USER")),
            PassesAuthorization = Has("HTTP_AUTHORIZATION"),
        };

        bool Has(string name) => parameters.GetVariable(name) is { Length: > 0 };

        static long Count(bool condition) => condition ? 1 : 0;
    }

    public FrontEnd Add(FrontEnd sample) => Combine(sample, 1) with { LastSeen = sample.LastSeen };

    public FrontEnd Since(FrontEnd? earlier) => earlier is null ? this : Combine(earlier, -1);

    public FrontEnd NoteAuthorization(bool isPassed) => this with
    {
        PassesAuthorization = PassesAuthorization || isPassed,
        Challenges = Challenges + (isPassed ? 0 : 1),
    };

    private FrontEnd Combine(FrontEnd other, int sign) => this with
    {
        Samples = Samples + sign * other.Samples,
        KeepConnection = KeepConnection + sign * other.KeepConnection,
        WithScheme = WithScheme + sign * other.WithScheme,
        WithoutScheme = WithoutScheme + sign * other.WithoutScheme,
        WithTarget = WithTarget + sign * other.WithTarget,
        WithoutHost = WithoutHost + sign * other.WithoutHost,
        WithClient = WithClient + sign * other.WithClient,
        WithUser = WithUser + sign * other.WithUser,
        PassesAuthorization = PassesAuthorization || other.PassesAuthorization,
    };
}
