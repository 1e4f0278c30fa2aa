using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore;

/// <summary>
/// Limits that protect the application from web servers and their clients. <see langword="null"/> always means no
/// limit; without a limit on a buffer, a peer can exhaust the memory of the process. Unless stated otherwise, a number
/// must be at least 1, and a time greater than zero.
/// </summary>
public sealed class FastCgiServerLimits
{
    /// <summary>Gets or sets the maximum number of open connections. Others are closed without a response.</summary>
    /// <remarks>
    /// Defaults to <see langword="null"/>, as in Kestrel. On Linux, the last sixth of the file descriptors, at most
    /// 1,024, is reserved for threads and files: .NET terminates a process whose thread pool runs out of them.
    /// </remarks>
    public long? MaxConcurrentConnections
    {
        get;
        set => field = PositiveOrNull(value);
    }

    /// <summary>
    /// Gets or sets the maximum number of requests that the application handles at the same time. Further requests wait
    /// in a queue of <see cref="RequestQueueLimit"/>; if it is full, they get a 503 with <c>Retry-After</c>.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="null"/>. The next request may start before the <c>OnCompleted</c> callbacks and
    /// scoped services of another have ended, so a limit of 1 does not replace a lock.
    /// </remarks>
    public long? MaxConcurrentRequests
    {
        get;
        set => field = PositiveOrNull(value);
    }

    /// <summary>Gets or sets how many requests may wait while <see cref="MaxConcurrentRequests"/> is reached.</summary>
    /// <remarks>Defaults to 0: no request waits.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public int RequestQueueLimit
    {
        get;
        set => field = (int)InRange(value, 0);
    }

    /// <summary>Gets or sets how long a request may be queued before it gets a 503 with <c>Retry-After</c>.</summary>
    /// <remarks>
    /// Defaults to 30 seconds, half the timeout of web servers (nginx: <c>fastcgi_read_timeout 60s</c>; Apache:
    /// <c>Timeout 60</c>): a later response would hardly arrive in time. It is checked every second.
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
    /// Defaults to 100, like <c>option max-reqs</c> in HAProxy's documentation. At most 65,535, the number of ids.
    /// </remarks>
    public int MaxRequestsPerConnection
    {
        get;
        set => field = (int)InRange(value, 1, ushort.MaxValue);
    } = 100;

    /// <summary>Gets or sets the maximum size of a request's parameters in bytes. A larger one gets a 431.</summary>
    /// <remarks>Defaults to 128 KiB: nginx sends up to 64 KiB in one record, Apache 80 KiB in several.</remarks>
    public long MaxRequestParametersTotalSize
    {
        get;
        set => field = InRange(value, 1);
    } = 128 * 1024;

    /// <summary>Gets or sets the maximum number of parameters, including headers. More get a 431.</summary>
    /// <remarks>Defaults to 1,000. nginx sends about 30, Apache with <c>SSLOptions +StdEnvVars</c> about 90.</remarks>
    public int MaxRequestParameterCount
    {
        get;
        set => field = (int)InRange(value, 1);
    } = 1_000;

    /// <summary>Gets or sets the maximum size of a request body in bytes. Reading more fails with a 413.</summary>
    /// <remarks>
    /// Defaults to 30,000,000, as in Kestrel and IIS. An endpoint can change it with <c>[RequestSizeLimit]</c>. The web
    /// server has its own limit (nginx: <c>client_max_body_size</c>, 1 MiB).
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public long? MaxRequestBodySize
    {
        get;
        set => field = value is null ? null : InRange(value.Value, 0, long.MaxValue);
    } = 30_000_000;

    /// <summary>Gets or sets how many bytes of a request body are buffered before receiving pauses.</summary>
    /// <remarks>Defaults to 1 MiB, as in Kestrel.</remarks>
    public long? MaxRequestBufferSize
    {
        get;
        set => field = PositiveOrNull(value);
    } = 1024 * 1024;

    /// <summary>Gets or sets how many bytes of a response are buffered before writes wait.</summary>
    /// <remarks>Defaults to 64 KiB, as in Kestrel.</remarks>
    public long? MaxResponseBufferSize
    {
        get;
        set => field = PositiveOrNull(value);
    } = 64 * 1024;

    /// <summary>Gets or sets the limit of a request's error output in bytes. The rest is dropped.</summary>
    /// <remarks>Defaults to 64 KiB: a page of stack traces. Without a limit, it can fill the log's disk.</remarks>
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
    /// Defaults to 30 seconds, like Kestrel's <c>RequestHeadersTimeout</c>: a web server connects only to send a
    /// request. See <see cref="KeepAliveTimeout"/> for connections that it keeps open.
    /// </remarks>
    public TimeSpan RequestParametersTimeout
    {
        get;
        set => field = Positive(value);
    } = TimeSpan.FromSeconds(30);

    /// <summary>Gets or sets the minimum data rate of a request body. After the grace period, reading fails.</summary>
    /// <remarks>
    /// Defaults to <see langword="null"/>, unlike Kestrel: most web servers receive the whole body first, and all have
    /// their own limit (nginx: <c>client_body_timeout</c>). Set it for a web server that forwards the body immediately
    /// (<c>fastcgi_request_buffering off</c>). As in Kestrel, it is the average over the time that the application has
    /// waited, excluding the time in which receiving is paused. An endpoint can change it with
    /// <see cref="Microsoft.AspNetCore.Server.Kestrel.Core.Features.IHttpMinRequestBodyDataRateFeature"/>.
    /// </remarks>
    public MinDataRate? MinRequestBodyDataRate { get; set; }

    /// <summary>
    /// Gets or sets how long a request with an unread body may block the other requests on its connection, once
    /// <see cref="MaxRequestBufferSize"/> bytes are buffered. After that, the server drops the rest of the body: the
    /// application's next read fails with status 503, and the other requests continue.
    /// </summary>
    /// <remarks>Defaults to 5 seconds. Applies only to multiplexing (HAProxy: <c>option mpxs-conns</c>).</remarks>
    public TimeSpan UnreadBodyTimeout
    {
        get;
        set => field = Positive(value);
    } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Gets or sets how long the server waits for the web server to accept data. After that, the connection is reset
    /// and its requests are aborted; otherwise, a hung web server would hold them forever.
    /// </summary>
    /// <remarks>
    /// Defaults to 2 minutes, twice the <c>send_timeout</c> of nginx, which by then has given up on a client that does
    /// not read. Does not limit a response that has nothing to send, such as an idle event stream. Progress counts when
    /// a good part of the send buffer is free again (Socket engine: after at most 256 KiB), so a web server that
    /// accepts a few bytes a second times out too.
    /// </remarks>
    public TimeSpan? SendTimeout
    {
        get;
        set => field = PositiveOrNull(value);
    } = TimeSpan.FromMinutes(2);

    /// <summary>Gets or sets how long a keep-alive connection may be idle before the server closes it.</summary>
    /// <remarks>Defaults to <see langword="null"/>: a web server that reuses one as it closes gets an error.</remarks>
    public TimeSpan? KeepAliveTimeout
    {
        get;
        set => field = PositiveOrNull(value);
    }

    /// <summary>Gets or sets how long input is discarded after the last response: a reset would destroy it.</summary>
    /// <remarks>Defaults to 5 seconds, as for unread bodies in Kestrel, and nginx's <c>lingering_timeout</c>.</remarks>
    public TimeSpan LingerTimeout
    {
        get;
        set => field = Positive(value);
    } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// Gets or sets how long a keep-alive connection must have been idle to be closed at once during a graceful
    /// shutdown. Others are closed after the next response, so that a request already on its way is not lost.
    /// </summary>
    /// <remarks>
    /// Defaults to 2 seconds, so a shutdown under load takes up to 4 seconds. If the web server closes connections
    /// sooner (nginx: <c>keepalive_timeout 1s</c> in the <c>upstream</c>), no request is ever lost. May be zero.
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
