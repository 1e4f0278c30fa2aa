namespace FastCgi.AspNetCore.Advice;

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
