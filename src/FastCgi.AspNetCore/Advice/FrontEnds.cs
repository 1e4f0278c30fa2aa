using System.Text;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Protocol;

namespace FastCgi.AspNetCore.Advice;

/// <summary>
/// The web servers that were seen, and what they pass: one request of a second is looked at, so that it costs the others nothing. The
/// status shows it, and the doctor judges by it. No more web servers are remembered than a site can have.
/// </summary>
internal sealed class FrontEnds(TimeProvider time)
{
    private const int MaxCount = 16;
    private const string Unknown = "(SERVER_SOFTWARE is not passed)";

    private readonly Lock _lock = new();
    private readonly Dictionary<string, FrontEnd> _frontEnds = new(StringComparer.Ordinal);
    private long _lastSample = long.MinValue;
    private long _otherSamples;

    /// <summary>The requests that were looked at and came from web servers beyond those that are remembered.</summary>
    public long OtherSamples => Interlocked.Read(ref _otherSamples);

    /// <summary>Whether a request is to be looked at.</summary>
    /// <param name="now">The clock of the connections, which goes by the second.</param>
    public bool TryAcquire(long now)
    {
        var last = Volatile.Read(ref _lastSample);
        return now != last && Interlocked.CompareExchange(ref _lastSample, now, last) == last;
    }

    /// <summary>Looks at the params of a request.</summary>
    /// <param name="parameters">The params.</param>
    /// <param name="keepsConnection">Whether the web server keeps the connection.</param>
    public void Look(ReadOnlySpan<byte> parameters, bool keepsConnection)
    {
        var sample = new FrontEndSample { KeepsConnection = keepsConnection };
        var software = Unknown;
        var reader = new NameValuePairReader(parameters);
        while (reader.TryRead(out var name, out var value))
        {
            if (name.SequenceEqual("SERVER_SOFTWARE"u8) && !value.IsEmpty)
                software = LogText.Clean(Encoding.Latin1.GetString(value[..Math.Min(value.Length, LogText.MaxWebServerLength)]));
            else
                sample.Look(name, value);
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

    /// <summary>What was seen.</summary>
    public IReadOnlyList<FrontEnd> GetAll()
    {
        lock (_lock)
            return [.. _frontEnds.Values.Select(static frontEnd => frontEnd.Copy())];
    }
}

/// <summary>What one request shows of the configuration of its web server.</summary>
internal struct FrontEndSample
{
    public bool KeepsConnection;
    public bool HasScheme;
    public bool HasTarget;
    public bool HasHost;
    public bool HasClient;
    public bool HasUser;
    public bool IsBehindTls;
    private bool _isOldProtocol;

    /// <summary>Whether there has to be a host: HTTP/1.0 has none.</summary>
    public readonly bool LacksHost => !HasHost && !_isOldProtocol;

    /// <summary>Looks at a parameter.</summary>
    public void Look(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
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
        else if (name.SequenceEqual("SERVER_PORT"u8))
            IsBehindTls |= value.SequenceEqual("443"u8);
        else if (name.SequenceEqual("HTTP_X_FORWARDED_PROTO"u8))
            IsBehindTls |= Ascii.EqualsIgnoreCase(value, "https"u8);
        else if (name.SequenceEqual("SERVER_PROTOCOL"u8))
            _isOldProtocol = value.SequenceEqual("HTTP/1.0"u8);
    }
}

/// <summary>A web server that was seen, and in how many of the requests that were looked at something was so.</summary>
internal sealed class FrontEnd(string software)
{
    /// <summary>Its name and version.</summary>
    public string Software => software;

    /// <summary>The requests that were looked at.</summary>
    public long Samples { get; private set; }

    /// <summary>When the last was.</summary>
    public DateTimeOffset LastSeen { get; private set; }

    /// <summary>Those after which the connection is kept.</summary>
    public long Kept { get; private set; }

    /// <summary>Those with HTTPS or REQUEST_SCHEME.</summary>
    public long WithScheme { get; private set; }

    /// <summary>Those whose client seems to use TLS, and that have no scheme.</summary>
    public long LackingScheme { get; private set; }

    /// <summary>Those with REQUEST_URI.</summary>
    public long WithTarget { get; private set; }

    /// <summary>Those without HTTP_HOST that ought to have one.</summary>
    public long LackingHost { get; private set; }

    /// <summary>Those with REMOTE_ADDR.</summary>
    public long WithClient { get; private set; }

    /// <summary>Those with REMOTE_USER.</summary>
    public long WithUser { get; private set; }

    /// <summary>Counts a sample.</summary>
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
    }

    /// <summary>Copies it, so that who reads it needs no lock.</summary>
    public FrontEnd Copy() => (FrontEnd)MemberwiseClone();
}
