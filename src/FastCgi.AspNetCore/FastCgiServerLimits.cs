using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore;

/// <summary>
/// Limits that protect the application from web servers and their clients. <see langword="null"/> always means no
/// limit; without a limit on a buffer, a peer can exhaust the memory of the process.
/// </summary>
public sealed class FastCgiServerLimits
{
    /// <summary>
    /// Gets or sets the maximum number of open connections. The server closes further connections without a response.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="null"/> (no limit), as in Kestrel. Must be at least 1. On Linux, the server also
    /// reserves the last sixth of the file descriptors, at most 1,024, for threads and files: .NET terminates a process
    /// whose thread pool runs out of them.
    /// </remarks>
    public long? MaxConcurrentConnections
    {
        get;
        set => field = PositiveOrNull(value);
    }

    /// <summary>
    /// Gets or sets the maximum number of requests that the application handles at the same time, across all
    /// connections. Further requests wait in a queue of <see cref="RequestQueueLimit"/>; if the queue is full, they get
    /// a 503 with <c>Retry-After</c>.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="null"/> (no limit). Must be at least 1. The next request may start while the
    /// <c>OnCompleted</c> callbacks of a request run and its scoped services are disposed of, so a limit of 1 does not
    /// replace a lock.
    /// </remarks>
    public long? MaxConcurrentRequests
    {
        get;
        set => field = PositiveOrNull(value);
    }

    /// <summary>
    /// Gets or sets the maximum number of requests that wait while <see cref="MaxConcurrentRequests"/> is reached.
    /// </summary>
    /// <remarks>Defaults to 0: no request waits.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public int RequestQueueLimit
    {
        get;
        set => field = (int)InRange(value, 0);
    }

    /// <summary>
    /// Gets or sets how long a request may wait in the queue. After that, it gets a 503 with <c>Retry-After</c>.
    /// </summary>
    /// <remarks>
    /// Defaults to 30 seconds, half the timeout of web servers (nginx: <c>fastcgi_read_timeout 60s</c>; Apache:
    /// <c>Timeout 60</c>): a request that has waited longer would hardly get a response in time. <see langword="null"/>
    /// means no limit. It is checked every second. Must be greater than zero.
    /// </remarks>
    public TimeSpan? RequestQueueTimeout
    {
        get;
        set => field = PositiveOrNull(value);
    } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Gets or sets the maximum number of concurrent requests on one connection (multiplexing). Further requests get a
    /// 503. With 1, a connection carries one request after another, and the server reports FCGI_MPXS_CONNS as 0.
    /// </summary>
    /// <remarks>
    /// Defaults to 100, like <c>option max-reqs</c> in HAProxy's documentation. Must be between 1 and 65,535, the
    /// number of request ids.
    /// </remarks>
    public int MaxRequestsPerConnection
    {
        get;
        set => field = (int)InRange(value, 1, ushort.MaxValue);
    } = 100;

    /// <summary>
    /// Gets or sets the maximum size in bytes of the parameters of a request, including their length fields. A larger
    /// request gets a 431.
    /// </summary>
    /// <remarks>
    /// Defaults to 128 KiB: nginx sends up to 64 KiB of parameters in one record, Apache 80 KiB in several. Must be at
    /// least 1.
    /// </remarks>
    public long MaxRequestParametersTotalSize
    {
        get;
        set => field = InRange(value, 1);
    } = 128 * 1024;

    /// <summary>
    /// Gets or sets the maximum number of parameters of a request, including headers. A request with more gets a 431.
    /// </summary>
    /// <remarks>
    /// Defaults to 1,000; nginx sends about 30 by default, Apache with <c>SSLOptions +StdEnvVars</c> about 90. Must be
    /// at least 1.
    /// </remarks>
    public int MaxRequestParameterCount
    {
        get;
        set => field = (int)InRange(value, 1);
    } = 1_000;

    /// <summary>
    /// Gets or sets the maximum size of a request body in bytes. The read that exceeds it fails with status 413.
    /// </summary>
    /// <remarks>
    /// Defaults to 30,000,000, as in Kestrel and IIS; <see langword="null"/> means no limit. An endpoint can change it
    /// with <c>[RequestSizeLimit]</c> or <c>IHttpMaxRequestBodySizeFeature</c>. The web server has its own limit
    /// (nginx: <c>client_max_body_size</c>, 1 MiB).
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public long? MaxRequestBodySize
    {
        get;
        set => field = value is null ? null : InRange(value.Value, 0, long.MaxValue);
    } = 30_000_000;

    /// <summary>
    /// Gets or sets how many bytes of a request body are buffered until the application reads them. At the limit,
    /// receiving pauses.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 MiB, as in Kestrel. Must be at least 1. With <see langword="null"/>, a whole body may be held in
    /// memory.
    /// </remarks>
    public long? MaxRequestBufferSize
    {
        get;
        set => field = PositiveOrNull(value);
    } = 1024 * 1024;

    /// <summary>
    /// Gets or sets how many bytes of a response are buffered until they are sent. At the limit, writes wait.
    /// </summary>
    /// <remarks>
    /// Defaults to 64 KiB, as in Kestrel. Must be at least 1. With <see langword="null"/>, a whole response may be held
    /// in memory.
    /// </remarks>
    public long? MaxResponseBufferSize
    {
        get;
        set => field = PositiveOrNull(value);
    } = 64 * 1024;

    /// <summary>
    /// Gets or sets how many bytes a request may write to <see cref="IFastCgiRequestFeature.StandardError"/>. The rest
    /// is dropped.
    /// </summary>
    /// <remarks>
    /// Defaults to 64 KiB, enough for a page of stack traces; it is held in memory until the web server reads it. Must
    /// be at least 1. With <see langword="null"/>, a request can fill the disk that holds the log.
    /// </remarks>
    public long? MaxStandardErrorSize
    {
        get;
        set => field = PositiveOrNull(value);
    } = 64 * 1024;

    /// <summary>
    /// Gets or sets how long the parameters of a request may take to arrive; after that, the request gets a 408. Also
    /// limits how long a new connection may be open before its first request.
    /// </summary>
    /// <remarks>
    /// Defaults to 30 seconds, like Kestrel's <c>RequestHeadersTimeout</c>. A web server connects only when it has a
    /// request to send. For connections that it keeps open afterwards, see <see cref="KeepAliveTimeout"/>. Must be
    /// greater than zero.
    /// </remarks>
    public TimeSpan RequestParametersTimeout
    {
        get;
        set => field = Positive(value);
    } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Gets or sets the minimum data rate of a request body. After the grace period, reading a slower one fails with
    /// status 408.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="null"/> (no limit), unlike Kestrel: most web servers receive the whole body before
    /// they start the request, and all have their own limit (nginx: <c>client_body_timeout</c>). Set it for a web
    /// server that forwards the body immediately (<c>fastcgi_request_buffering off</c>). As in Kestrel, it is the
    /// average rate over the time that the application has waited, to the second, excluding the time in which receiving
    /// is paused. An endpoint can change it with
    /// <see cref="Microsoft.AspNetCore.Server.Kestrel.Core.Features.IHttpMinRequestBodyDataRateFeature"/>.
    /// </remarks>
    public MinDataRate? MinRequestBodyDataRate { get; set; }

    /// <summary>
    /// Gets or sets how long a request with an unread body may block the other requests on its connection, once
    /// <see cref="MaxRequestBufferSize"/> bytes are buffered. After that, the server drops the rest of the body: the
    /// application's next read fails with status 503, and the other requests continue.
    /// </summary>
    /// <remarks>
    /// Defaults to 5 seconds. Applies only to multiplexed connections (HAProxy: <c>option mpxs-conns</c>). Must be
    /// greater than zero.
    /// </remarks>
    public TimeSpan UnreadBodyTimeout
    {
        get;
        set => field = Positive(value);
    } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Gets or sets how long the web server may take nothing of a response. After that, the server cuts the response
    /// and aborts the other requests of the connection; otherwise, a client that never reads, or a hung web server,
    /// would hold them forever.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 hour, so that the web server decides how long a client may pause: nginx waits for
    /// <c>send_timeout 60s</c>, Apache for <c>Timeout 60</c>, lighttpd for <c>server.max-write-idle = 360</c>, and
    /// HAProxy for <c>timeout client</c>; Caddy has no limit. <see langword="null"/> means no limit, except that a TCP
    /// connection which is about to close is reset after 5 minutes without progress. Does not limit a response that has
    /// nothing to send, such as an idle event stream. Any data that the web server takes restarts the time, as far as
    /// the system reports it: in steps of up to 40 KB on a Unix socket and some 100 KB over local TCP. Must be greater
    /// than zero.
    /// </remarks>
    public TimeSpan? SendTimeout
    {
        get;
        set => field = PositiveOrNull(value);
    } = TimeSpan.FromHours(1);

    /// <summary>Gets or sets how long a keep-alive connection may be idle before the server closes it.</summary>
    /// <remarks>
    /// Defaults to <see langword="null"/> (no limit): leave it to the web server, which returns an error to its client
    /// if it reuses a connection at the moment it is closed. Must be greater than zero.
    /// </remarks>
    public TimeSpan? KeepAliveTimeout
    {
        get;
        set => field = PositiveOrNull(value);
    }

    /// <summary>
    /// Gets or sets how long the server waits for more input, which it discards, after the last response: a reset would
    /// destroy the response behind a web server that reads it only after it has sent the request body.
    /// </summary>
    /// <remarks>
    /// Defaults to 5 seconds, like nginx's <c>lingering_timeout</c>. Begins when the response is delivered, and again
    /// with all input, of which at most 64 MiB are discarded. Must be greater than zero.
    /// </remarks>
    public TimeSpan LingerTimeout
    {
        get;
        set => field = Positive(value);
    } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Gets or sets how long a keep-alive connection must have been idle for the server to close it during a graceful
    /// shutdown. A connection that was used more recently is closed after its next response, so that a request already
    /// on its way is not lost.
    /// </summary>
    /// <remarks>
    /// Defaults to 2 seconds, so a shutdown under load takes up to 4 seconds. If the web server closes connections that
    /// have been idle for less than that (nginx: <c>keepalive_timeout 1s</c> in the <c>upstream</c>), no request is
    /// ever lost. Zero closes idle connections at once.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public TimeSpan ShutdownIdleGracePeriod
    {
        get;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, TimeSpan.Zero);
            field = value;
        }
    } = TimeSpan.FromSeconds(2);

    internal static long InRange(long value, long min, long max = int.MaxValue)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(value, min);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(value, max);
        return value;
    }

    private static long? PositiveOrNull(long? value) => value is null ? null : InRange(value.Value, 1, long.MaxValue);

    internal static TimeSpan? PositiveOrNull(TimeSpan? value) => value is null ? null : Positive(value.Value);

    private static TimeSpan Positive(TimeSpan value)
    {
        if (value == Timeout.InfiniteTimeSpan)
            return TimeSpan.MaxValue;

        ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(value, TimeSpan.Zero);
        return value;
    }
}
