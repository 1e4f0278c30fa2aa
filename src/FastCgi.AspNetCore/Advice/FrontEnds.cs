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
        var sample = Describe(software ?? Unknown, parameters, keepsConnection, time.GetUtcNow());
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

    private static FrontEnd Describe(
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
}
