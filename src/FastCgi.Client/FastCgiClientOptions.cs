using FastCgi.Client.Connections;

namespace FastCgi.Client;

/// <summary>How a <see cref="FastCgiClient"/> uses its connections, and its limits.</summary>
public sealed class FastCgiClientOptions
{
    // The longest time that a timer accepts.
    private static readonly TimeSpan s_longest = TimeSpan.FromDays(49);

    /// <summary>Gets or sets the maximum number of connections; further requests wait. Default <see langword="null"/>: no limit.</summary>
    public int? MaxConnections { get; set => field = AtLeast(value, 1); }

    /// <summary>
    /// The most requests at a time on one connection. Default 1, which every application bears. More are sent only to an application
    /// that says it can (<see cref="Multiplexing"/>). FastCGI has no flow control: an answer that is not read holds up the others of its connection.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not from 1 to 65,535, which is the number of ids.</exception>
    public int MaxRequestsPerConnection
    {
        get;
        set => field = value <= ushort.MaxValue ? AtLeast(value, 1)!.Value : throw new ArgumentOutOfRangeException(nameof(value), value, "At most 65535.");
    } = 1;

    /// <summary>Gets or sets whether the application is asked before requests share a connection. Default <see cref="FastCgiMultiplexing.Ask"/>.</summary>
    public FastCgiMultiplexing Multiplexing { get; set; }

    /// <summary>
    /// Gets or sets whether connections are kept for the next request (FCGI_KEEP_CONN). Default <see langword="null"/>: only if the application
    /// answers FCGI_GET_VALUES with FCGI_MPXS_CONNS=1. Each process of php-fpm, for example, serves one connection at a time: an idle one blocks it.
    /// </summary>
    public bool? KeepConnections { get; set; }

    /// <summary>How long a connection is kept without a request. Default one minute, as for <see cref="SocketsHttpHandler"/>.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is neither positive and at most 49 days nor infinite.</exception>
    public TimeSpan IdleTimeout { get; set => field = PositiveOrInfinite(value); } = TimeSpan.FromMinutes(1);

    /// <summary>Gets or sets how long a connection takes new requests, as for <see cref="SocketsHttpHandler"/>. Default: no limit.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative or more than 49 days, and not infinite.</exception>
    public TimeSpan PooledConnectionLifetime { get; set => field = value == TimeSpan.Zero ? value : PositiveOrInfinite(value); } = Timeout.InfiniteTimeSpan;

    /// <summary>
    /// Gets or sets whether a body without CONTENT_LENGTH is sent as it is read. Default <see langword="false"/>: most applications read no further than
    /// CONTENT_LENGTH, so such a body is buffered first, up to 64 KiB in memory and more in a temporary file.
    /// </summary>
    public bool StreamsBodiesOfUnknownLength { get; set; }

    /// <summary>How long a connection may take to be made. Default 60 seconds, as nginx's <c>fastcgi_connect_timeout</c>.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is neither positive and at most 49 days nor infinite.</exception>
    public TimeSpan ConnectTimeout { get; set => field = PositiveOrInfinite(value); } = TimeSpan.FromSeconds(60);

    /// <summary>The largest header block of an answer, in bytes. Default 64 KiB, as for <see cref="SocketsHttpHandler"/>.</summary>
    public int MaxResponseHeadersSize { get; set => field = AtLeast(value, 1)!.Value; } = 64 * 1024;

    /// <summary>How many bytes of an answer wait to be read before the application is made to wait. Default 64 KiB.</summary>
    public int MaxResponseBufferSize { get; set => field = AtLeast(value, 1)!.Value; } = 64 * 1024;

    /// <summary>How many bytes of standard error are kept for a request; the rest is dropped. Default 64 KiB.</summary>
    public int MaxStandardErrorSize { get; set => field = AtLeast(value, 0)!.Value; } = 64 * 1024;

    /// <summary>
    /// Whether a request that may change something (POST, PATCH and the like) is sent again when a kept connection turns out closed. Default
    /// <see langword="false"/>: the application may have worked on it (RFC 9110, section 9.2.2).
    /// </summary>
    public bool RetriesUnsafeRequests { get; set; }

    /// <summary>Sees each record, in and out.</summary>
    internal RecordTrace? Trace { get; set; }

    internal TimeProvider TimeProvider { get; set; } = TimeProvider.System;

    /// <summary>Replaces an infinite time by one that a timer accepts.</summary>
    internal static TimeSpan ToFinite(TimeSpan time) => time == Timeout.InfiniteTimeSpan ? s_longest : time;

    internal FastCgiClientOptions Clone() => (FastCgiClientOptions)MemberwiseClone();

    private static int? AtLeast(int? value, int least)
        => value < least ? throw new ArgumentOutOfRangeException(nameof(value), value, $"At least {least}.") : value;

    private static TimeSpan PositiveOrInfinite(TimeSpan value)
        => (value > TimeSpan.Zero && value <= s_longest) || value == Timeout.InfiniteTimeSpan
            ? value : throw new ArgumentOutOfRangeException(nameof(value), value, "Positive and at most 49 days, or Timeout.InfiniteTimeSpan.");
}

/// <summary>When requests share a connection.</summary>
public enum FastCgiMultiplexing
{
    /// <summary>If the application answers FCGI_GET_VALUES with FCGI_MPXS_CONNS=1. It is asked after its first answer, and has a second to reply.</summary>
    Ask,

    /// <summary>Always: the application is known to allow it.</summary>
    Always,
}
