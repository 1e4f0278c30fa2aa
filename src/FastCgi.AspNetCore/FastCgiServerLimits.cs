using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore;

/// <summary>
/// The numbers that the web server and its clients can push on. Each is checked when it is set; <see langword="null"/> always means
/// that there is no limit, and where memory is at stake, that is a risk.
/// </summary>
public sealed class FastCgiServerLimits
{
    // As Kestrel, whose number is that of IIS.
    private long? _maxRequestBodySize = 30_000_000;

    // A front-end holds up to 64 KiB of params in one record (nginx) and more in several (Apache: 80 KiB were seen).
    private long _maxRequestParametersTotalSize = 128 * 1024;

    // A stock nginx sends about 30, Apache with SSLOptions +StdEnvVars about 90.
    private int _maxRequestParameterCount = 1_000;

    // HAProxy's `option max-reqs` in its documentation, and what HTTP/2 servers allow.
    private int _maxRequestsPerConnection = 100;

    // As Kestrel.
    private long? _maxRequestBufferSize = 1024 * 1024;

    // As Kestrel.
    private long? _maxResponseBufferSize = 64 * 1024;

    // As Kestrel's RequestHeadersTimeout.
    private TimeSpan _requestParametersTimeout = TimeSpan.FromSeconds(30);

    // Long for a front-end whose other clients wait, and short for an application that is to read.
    private TimeSpan _unreadBodyTimeout = TimeSpan.FromSeconds(5);

    // Twice the send_timeout of nginx: by then nginx itself has given up a client that does not read.
    private TimeSpan? _sendTimeout = TimeSpan.FromMinutes(2);

    // As Kestrel's drain of an unread request body, and nginx' lingering_timeout.
    private TimeSpan _lingerTimeout = TimeSpan.FromSeconds(5);

    // What a page of stack traces needs; the whole of it stays in memory while the web server does not read.
    private long? _maxStandardErrorSize = 64 * 1024;

    // Twice what the documentation tells nginx to keep an idle connection for (keepalive_timeout 1s).
    private TimeSpan _shutdownIdleGracePeriod = TimeSpan.FromSeconds(2);

    private long? _maxConcurrentConnections;
    private long? _maxConcurrentRequests;
    private int _requestQueueLimit;

    // Half of what web servers wait for an answer by default (nginx: fastcgi_read_timeout 60s; Apache: Timeout 60): a request that has waited for
    // longer would hardly be answered in the time that is left.
    private TimeSpan? _requestQueueTimeout = TimeSpan.FromSeconds(30);

    // Two load balancers, an orchestrator and a person who looks at the status page, twice.
    private int _maxReservedRequests = 8;

    private TimeSpan? _keepAliveTimeout;

    /// <summary>The most connections that are open at a time. A further one is closed without an answer.</summary>
    /// <remarks>
    /// No limit by default, as in Kestrel. At least 1. On Linux, connections also leave the last sixth of the descriptors, at most 1,024, to
    /// threads and files: .NET ends a process whose thread pool has none.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public long? MaxConcurrentConnections
    {
        get => _maxConcurrentConnections;
        set => _maxConcurrentConnections = PositiveOrNull(value);
    }

    /// <summary>
    /// The most requests that the application works on at a time, over all connections. Further ones wait in a queue of
    /// <see cref="RequestQueueLimit"/>, and beyond that are answered 503 with <c>Retry-After</c>.
    /// </summary>
    /// <remarks>No limit by default. At least 1, which is for components that are not thread-safe.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public long? MaxConcurrentRequests
    {
        get => _maxConcurrentRequests;
        set => _maxConcurrentRequests = PositiveOrNull(value);
    }

    /// <summary>The requests that may wait while <see cref="MaxConcurrentRequests"/> are under way.</summary>
    /// <remarks>0 by default: none waits.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public int RequestQueueLimit
    {
        get => _requestQueueLimit;
        set
        {
            ArgumentOutOfRangeException.ThrowIfNegative(value);
            _requestQueueLimit = value;
        }
    }

    /// <summary>The time that a request may wait in the queue. One that has waited for longer is not begun, but answered 503 with <c>Retry-After</c>.</summary>
    /// <remarks>
    /// 30 seconds by default; <see langword="null"/> for no limit. Its client, or the web server, has most likely given up by then (nginx:
    /// <c>fastcgi_read_timeout</c>, 60 seconds), and what is done for it is lost for the others. Looked at every second. More than zero.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan? RequestQueueTimeout
    {
        get => _requestQueueTimeout;
        set => _requestQueueTimeout = value is null ? null : Positive(value.Value);
    }

    /// <summary>
    /// The most requests for <see cref="FastCgiServerOptions.ReservedPaths"/> that are taken while <see cref="MaxConcurrentRequests"/> are under
    /// way. Further ones wait or are refused as any other.
    /// </summary>
    /// <remarks>8 by default, beside <see cref="MaxConcurrentRequests"/>. At least 1. Without reserved paths it has no effect.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public int MaxReservedRequests
    {
        get => _maxReservedRequests;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            _maxReservedRequests = value;
        }
    }

    /// <summary>
    /// The most requests that one connection may carry at a time (multiplexing). Further ones are answered 503. With 1, a
    /// connection takes one request after another, and FCGI_MPXS_CONNS is told as 0.
    /// </summary>
    /// <remarks>100 by default. 1 to 65,535, the number of request ids.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is out of range.</exception>
    public int MaxRequestsPerConnection
    {
        get => _maxRequestsPerConnection;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            ArgumentOutOfRangeException.ThrowIfGreaterThan(value, ushort.MaxValue);
            _maxRequestsPerConnection = value;
        }
    }

    /// <summary>The most bytes of the params of a request, names and values and their lengths. A request with more is answered 431.</summary>
    /// <remarks>128 KiB by default. At least 1.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive, or more than 2,147,483,647.</exception>
    public long MaxRequestParametersTotalSize
    {
        get => _maxRequestParametersTotalSize;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            ArgumentOutOfRangeException.ThrowIfGreaterThan(value, int.MaxValue);
            _maxRequestParametersTotalSize = value;
        }
    }

    /// <summary>The most params of a request, headers and server variables together. A request with more is answered 431.</summary>
    /// <remarks>1,000 by default. At least 1.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public int MaxRequestParameterCount
    {
        get => _maxRequestParameterCount;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, 1);
            _maxRequestParameterCount = value;
        }
    }

    /// <summary>The most bytes of a request body. The read that passes it fails with a 413.</summary>
    /// <remarks>
    /// 30,000,000 by default, as in Kestrel and IIS. An endpoint can change it with <c>[RequestSizeLimit]</c> or
    /// <c>IHttpMaxRequestBodySizeFeature</c>. The web server has a limit of its own (nginx: <c>client_max_body_size</c>, 1 MiB).
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public long? MaxRequestBodySize
    {
        get => _maxRequestBodySize;
        set
        {
            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfNegative(value.Value);
            _maxRequestBodySize = value;
        }
    }

    /// <summary>The bytes of a request body that are held for an application that has not read them; then receiving pauses.</summary>
    /// <remarks>1 MiB by default, as in Kestrel. At least 1. Without a limit a whole body may be held in memory.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public long? MaxRequestBufferSize
    {
        get => _maxRequestBufferSize;
        set => _maxRequestBufferSize = PositiveOrNull(value);
    }

    /// <summary>The bytes of a response that wait to be sent before a write waits for them.</summary>
    /// <remarks>64 KiB by default, as in Kestrel. At least 1. Without a limit a whole response may be held in memory.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public long? MaxResponseBufferSize
    {
        get => _maxResponseBufferSize;
        set => _maxResponseBufferSize = PositiveOrNull(value);
    }

    /// <summary>
    /// The bytes that a request may write to the web server's error log (<see cref="IFastCgiRequestFeature.StandardError"/>). What
    /// exceeds them is dropped.
    /// </summary>
    /// <remarks>64 KiB by default. At least 1. Without a limit a request can fill the disk that the log is on.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public long? MaxStandardErrorSize
    {
        get => _maxStandardErrorSize;
        set => _maxStandardErrorSize = PositiveOrNull(value);
    }

    /// <summary>
    /// The time from the start of a request to the end of its params; then it is answered 408. A connection on which no request has begun
    /// in that time is closed.
    /// </summary>
    /// <remarks>
    /// 30 seconds by default, as Kestrel's <c>RequestHeadersTimeout</c>. A web server connects when it has a request. One that keeps the connection
    /// afterwards may do so for hours: see <see cref="KeepAliveTimeout"/>. More than zero.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan RequestParametersTimeout
    {
        get => _requestParametersTimeout;
        set => _requestParametersTimeout = Positive(value);
    }

    /// <summary>
    /// How fast a request body must come while the application waits for it. The read of one that is slower, once the grace period is over,
    /// fails with a 408.
    /// </summary>
    /// <remarks>
    /// <see langword="null"/>, no limit, by default, other than in Kestrel: most web servers take the whole body before they begin the request, and all
    /// have such limits (nginx: <c>client_body_timeout</c>). It is of use behind one that does not (<c>fastcgi_request_buffering off</c>).
    /// Measured as in Kestrel: the mean of what has come over the time that the application has waited, to the second. Time in which receiving is paused does not count.
    /// An endpoint can change it with <see cref="Microsoft.AspNetCore.Server.Kestrel.Core.Features.IHttpMinRequestBodyDataRateFeature"/>.
    /// </remarks>
    public MinDataRate? MinRequestBodyDataRate { get; set; }

    /// <summary>
    /// The time that a request whose body is not read may hold up the other requests of its connection, once
    /// <see cref="MaxRequestBufferSize"/> of it are held. Then the rest of the body is refused: what the application reads of it
    /// fails with a 503, and the other requests go on.
    /// </summary>
    /// <remarks>
    /// 5 seconds by default. It applies to connections that carry several requests at a time (HAProxy's <c>option mpxs-conns</c>); on
    /// others the application may take its time. More than zero.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan UnreadBodyTimeout
    {
        get => _unreadBodyTimeout;
        set => _unreadBodyTimeout = Positive(value);
    }

    /// <summary>
    /// The time that the web server may take nothing of what there is to send. Then the connection is reset, and its requests are aborted:
    /// else a web server that hangs would keep them for ever.
    /// </summary>
    /// <remarks>
    /// 2 minutes by default; <see langword="null"/> for no limit. A response that has nothing to send, such as a stream of events, is not
    /// limited by it. That something was taken is seen when a good part of the system's buffer is free again (Socket engine: at the end of a
    /// send, of at most 256 KiB), so that a web server that takes a few bytes a second is too slow as well. More than zero.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan? SendTimeout
    {
        get => _sendTimeout;
        set => _sendTimeout = value is null ? null : Positive(value.Value);
    }

    /// <summary>The time that a kept connection may be idle before it is closed.</summary>
    /// <remarks>
    /// No limit by default: the web server decides, for one that reuses a connection in the instant it is closed answers its client
    /// with an error. More than zero.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan? KeepAliveTimeout
    {
        get => _keepAliveTimeout;
        set => _keepAliveTimeout = value is null ? null : Positive(value.Value);
    }

    /// <summary>
    /// The time that the web server's remaining input is read and dropped after the last answer on a connection, so that a reset
    /// does not destroy that answer.
    /// </summary>
    /// <remarks>5 seconds by default. More than zero.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan LingerTimeout
    {
        get => _lingerTimeout;
        set => _lingerTimeout = Positive(value);
    }

    /// <summary>
    /// How long a kept connection must have been idle to be closed when the server stops. One that was used later is closed behind the
    /// next answer on it, so that no request is lost that the web server sends on it meanwhile.
    /// </summary>
    /// <remarks>
    /// 2 seconds by default, so that a server that was busy takes up to 4 seconds to stop. If the web server itself closes a connection
    /// that has been idle for less than that (nginx: <c>keepalive_timeout 1s</c> in the <c>upstream</c>), no request is ever lost. Zero
    /// closes idle connections at once.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is negative.</exception>
    public TimeSpan ShutdownIdleGracePeriod
    {
        get => _shutdownIdleGracePeriod;
        set
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(value, TimeSpan.Zero);
            _shutdownIdleGracePeriod = value;
        }
    }

    private static long? PositiveOrNull(long? value)
    {
        if (value is not null)
            ArgumentOutOfRangeException.ThrowIfLessThan(value.Value, 1);
        return value;
    }

    private static TimeSpan Positive(TimeSpan value)
    {
        if (value != Timeout.InfiniteTimeSpan)
            ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(value, TimeSpan.Zero);
        return value == Timeout.InfiniteTimeSpan ? TimeSpan.MaxValue : value;
    }
}
