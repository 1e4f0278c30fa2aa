namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// The web servers that were seen, and what one sampled request per second shows of them. Their number is bounded.
/// </summary>
internal sealed class FrontEnds(TimeProvider time)
{
    private const int MaxCount = 16;
    private const string Unknown = "(SERVER_SOFTWARE is not passed)";

    private readonly Lock _lock = new();
    private readonly Dictionary<string, FrontEnd> _frontEnds = new(StringComparer.Ordinal);
    private long _lastSample = long.MinValue;
    private long _otherSamples;

    /// <summary>Sampled requests of web servers beyond those that are listed.</summary>
    public long OtherSamples => Interlocked.Read(ref _otherSamples);

    /// <summary>Whether a web server has passed requests that were challenged, and none with Authorization.</summary>
    public bool AwaitsAuthorization { get; private set; }

    public bool TryAcquire(long now)
    {
        var last = Volatile.Read(ref _lastSample);
        return now != last && Interlocked.CompareExchange(ref _lastSample, now, last) == last;
    }

    public void Sample(ReadOnlySpan<byte> parameters, bool keepsConnection)
    {
        var sample = new FrontEndSample { KeepsConnection = keepsConnection };
        var software = Unknown;
        var reader = new NameValuePairReader(parameters);
        while (reader.TryRead(out var name, out var value))
        {
            if (name.SequenceEqual("SERVER_SOFTWARE"u8) && !value.IsEmpty)
                software = LogText.Clean(
                    Encoding.Latin1.GetString(value[..Math.Min(value.Length, LogText.MaxWebServerLength)]));
            else
                sample.Add(name, value);
        }

        lock (_lock)
        {
            if (!_frontEnds.TryGetValue(software, out var frontEnd))
            {
                if (_frontEnds.Count == MaxCount)
                {
                    Interlocked.Increment(ref _otherSamples);
                    return;
                }

                _frontEnds.Add(software, frontEnd = new FrontEnd(software));
            }

            frontEnd.Add(sample, time.GetUtcNow());
        }
    }

    /// <summary>Notes of a web server that was sampled whether it passes Authorization.</summary>
    public void NoteAuthorization(string software, bool isPassed)
    {
        lock (_lock)
        {
            if (_frontEnds.TryGetValue(software, out var frontEnd))
                frontEnd.NoteAuthorization(isPassed);
            AwaitsAuthorization = _frontEnds.Values.Any(
                static frontEnd => frontEnd is { Challenges: > 0, PassesAuthorization: false });
        }
    }

    public IReadOnlyList<FrontEnd> GetAll()
    {
        lock (_lock)
            return [.. _frontEnds.Values.Select(static frontEnd => frontEnd.Copy())];
    }
}

internal struct FrontEndSample
{
    public bool KeepsConnection;
    public bool HasScheme;
    public bool HasTarget;
    public bool HasHost;
    public bool HasClient;
    public bool HasUser;
    public bool HasAuthorization;
    public bool IsBehindTls;
    private bool _isOldProtocol;

    /// <summary>HTTP/1.0 requires no host.</summary>
    public readonly bool LacksHost => !HasHost && !_isOldProtocol;

    public void Add(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (value.IsEmpty)
            return;

        if (name.SequenceEqual("HTTPS"u8) || name.SequenceEqual("REQUEST_SCHEME"u8))
            HasScheme = true;
        else if (name.SequenceEqual("REQUEST_URI"u8))
            HasTarget = true;
        else if (name.SequenceEqual("HTTP_HOST"u8))
            HasHost = true;
        else if (name.SequenceEqual("REMOTE_ADDR"u8))
            HasClient = true;
        else if (name.SequenceEqual("REMOTE_USER"u8))
            HasUser = true;
        else if (name.SequenceEqual("HTTP_AUTHORIZATION"u8))
            HasAuthorization = true;
        else if (name.SequenceEqual("SERVER_PORT"u8))
            IsBehindTls |= value.SequenceEqual("443"u8);
        else if (name.SequenceEqual("HTTP_X_FORWARDED_PROTO"u8))
            IsBehindTls |= Ascii.EqualsIgnoreCase(value, "https"u8);
        else if (name.SequenceEqual("SERVER_PROTOCOL"u8))
            _isOldProtocol = value.SequenceEqual("HTTP/1.0"u8);
    }
}

/// <summary>A web server, and how many of its sampled requests have a property.</summary>
internal sealed class FrontEnd(string software)
{
    public string Software => software;
    public long Samples { get; private set; }
    public DateTimeOffset LastSeen { get; private set; }
    public long Kept { get; private set; }
    public long WithScheme { get; private set; }

    /// <summary>Requests that seem to have come over TLS, without HTTPS and REQUEST_SCHEME.</summary>
    public long LackingScheme { get; private set; }
    public long WithTarget { get; private set; }

    /// <summary>Requests without HTTP_HOST, except HTTP/1.0.</summary>
    public long LackingHost { get; private set; }
    public long WithClient { get; private set; }
    public long WithUser { get; private set; }
    public bool PassesAuthorization { get; private set; }

    /// <summary>Requests without Authorization that were answered with a challenge.</summary>
    public long Challenges { get; private set; }

    public void Add(in FrontEndSample sample, DateTimeOffset now)
    {
        Samples++;
        LastSeen = now;
        Kept += sample.KeepsConnection ? 1 : 0;
        WithScheme += sample.HasScheme ? 1 : 0;
        LackingScheme += sample is { IsBehindTls: true, HasScheme: false } ? 1 : 0;
        WithTarget += sample.HasTarget ? 1 : 0;
        LackingHost += sample.LacksHost ? 1 : 0;
        WithClient += sample.HasClient ? 1 : 0;
        WithUser += sample.HasUser ? 1 : 0;
        PassesAuthorization |= sample.HasAuthorization;
    }

    public void NoteAuthorization(bool isPassed)
    {
        PassesAuthorization |= isPassed;
        Challenges += isPassed ? 0 : 1;
    }

    public FrontEnd Copy() => (FrontEnd)MemberwiseClone();
}
