namespace FastCgi.Client;

/// <summary>Configures the connections and limits of a <see cref="FastCgiClient"/>.</summary>
public sealed class FastCgiClientOptions
{
    private static readonly TimeSpan s_longest = TimeSpan.FromDays(49);

    /// <summary>Gets or sets the maximum number of connections. Defaults to <see langword="null"/>: no limit.</summary>
    public int? MaxConnections { get; set => field = AtLeast(value, 1); }

    /// <summary>
    /// Gets or sets whether connections are kept open for further requests (FCGI_KEEP_CONN). Defaults to
    /// <see langword="false"/>, like nginx's <c>fastcgi_keep_conn</c>: an idle connection to php-fpm, for example,
    /// blocks a process. Use <see langword="true"/> if the server handles many connections, as FastCgi.AspNetCore does.
    /// </summary>
    public bool KeepConnections { get; set; }

    /// <summary>
    /// Gets or sets how long an idle connection is kept open. Defaults to one minute, as for
    /// <see cref="SocketsHttpHandler"/>.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive, or more than 49 days.</exception>
    public TimeSpan IdleTimeout { get; set => field = InRange(value); } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// Gets or sets how long a connection accepts new requests, as for <see cref="SocketsHttpHandler"/>. Defaults to no
    /// limit.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative, or more than 49 days.</exception>
    public TimeSpan PooledConnectionLifetime { get; set => field = InRange(value, 0); } = Timeout.InfiniteTimeSpan;

    /// <summary>
    /// Gets or sets whether a body without CONTENT_LENGTH is streamed. Defaults to <see langword="false"/>: most
    /// applications read no further than CONTENT_LENGTH, so such a body is buffered first, up to 64 KiB in memory and
    /// more in a temporary file.
    /// </summary>
    public bool StreamsBodiesOfUnknownLength { get; set; }

    /// <summary>Gets or sets the connect timeout. Defaults to 60 seconds, as in nginx.</summary>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive, or more than 49 days.</exception>
    public TimeSpan ConnectTimeout { get; set => field = InRange(value); } = TimeSpan.FromSeconds(60);

    /// <summary>
    /// Gets or sets the maximum size of the response headers in bytes. Defaults to 64 KiB, as for
    /// <see cref="SocketsHttpHandler"/>.
    /// </summary>
    public int MaxResponseHeadersSize { get; set => field = AtLeast(value, 1)!.Value; } = 64 * 1024;

    /// <summary>Gets or sets how many unread bytes of a response are buffered. Defaults to 64 KiB.</summary>
    public int MaxResponseBufferSize { get; set => field = AtLeast(value, 1)!.Value; } = 64 * 1024;

    /// <summary>Gets or sets how many bytes of standard error are kept per request. Defaults to 64 KiB.</summary>
    public int MaxStandardErrorSize { get; set => field = AtLeast(value, 0)!.Value; } = 64 * 1024;

    /// <summary>
    /// Gets or sets whether a request that is not idempotent (such as POST and PATCH) is sent again if a keep-alive
    /// connection is closed. Defaults to <see langword="false"/>: the application may have executed it (RFC 9110,
    /// section 9.2.2).
    /// </summary>
    public bool RetriesUnsafeRequests { get; set; }

    /// <summary>Observes the records of all connections.</summary>
    internal RecordTrace? Trace { get; set; }

    internal TimeProvider TimeProvider { get; set; } = TimeProvider.System;

    /// <summary>Replaces an infinite time by the longest one that a timer accepts.</summary>
    internal static TimeSpan ToFinite(TimeSpan time) => time == Timeout.InfiniteTimeSpan ? s_longest : time;

    internal FastCgiClientOptions Clone() => (FastCgiClientOptions)MemberwiseClone();

    private static int? AtLeast(int? value, int least)
        => value < least
            ? throw new ArgumentOutOfRangeException(nameof(value), value, $"The value must be at least {least}.")
            : value;

    private static TimeSpan InRange(TimeSpan value, long least = 1)
        => (value.Ticks >= least && value <= s_longest) || value == Timeout.InfiniteTimeSpan
            ? value
            : throw new ArgumentOutOfRangeException(
                nameof(value), value, "Must be positive and at most 49 days, or Timeout.InfiniteTimeSpan.");
}
