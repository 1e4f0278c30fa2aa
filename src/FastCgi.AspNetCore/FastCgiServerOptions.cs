using System.Globalization;
using System.Net;
using System.Text;
using Microsoft.AspNetCore.Connections;

namespace FastCgi.AspNetCore;

/// <summary>How the FastCGI server behaves. The section <c>FastCgi</c> of the configuration sets the same options.</summary>
public sealed class FastCgiServerOptions
{
    /// <summary>Whether the application may read and write bodies synchronously.</summary>
    /// <remarks>False by default, as in Kestrel: a synchronous call holds a thread.</remarks>
    public bool AllowSynchronousIO { get; set; }

    /// <summary>Whether the log tells the operator what to fix in the configuration of the web server, the application and the machine.</summary>
    /// <remarks>
    /// True by default. Each piece of advice is a Warning or an Information, at most once a minute. Without it, the status page shows no web
    /// servers and no recommendations, and <see cref="SlowRequestThreshold"/> has no effect.
    /// </remarks>
    public bool EnableAdvice { get; set; } = true;

    /// <summary>The numbers that bound what a peer can use.</summary>
    public FastCgiServerLimits Limits { get; } = new();

    /// <summary>How bytes are moved and where the application runs.</summary>
    public FastCgiTransportOptions Transport { get; } = new();

    /// <summary>Which files the web server sends itself.</summary>
    /// <remarks>None by default.</remarks>
    public FastCgiSendFileOptions SendFile { get; } = new();

    /// <summary>The roles in which the application serves web servers. Requests in another role are refused with UNKNOWN_ROLE.</summary>
    /// <remarks>
    /// <see cref="FastCgiRole.Responder"/> by default. Endpoints are chosen by the role too: see <see cref="FastCgiRoleAttribute"/>.
    /// </remarks>
    public ISet<FastCgiRole> Roles { get; } = new HashSet<FastCgiRole> { FastCgiRole.Responder };

    /// <summary>
    /// The paths, such as <c>/health</c>, whose requests are taken though <see cref="FastCgiServerLimits.MaxConcurrentRequests"/> are under way, up to
    /// <see cref="FastCgiServerLimits.MaxReservedRequests"/>: who watches a site asks just then.
    /// </summary>
    /// <remarks>
    /// Empty by default. A path stands for itself and for what is below it, <c>/health/ready</c> but not <c>/healthy</c>, without regard to case, as
    /// in routing. It is compared with <c>HttpRequest.Path</c>, which lacks the path base. An item that does not begin with a slash, or is <c>/</c> alone, is an
    /// <see cref="ArgumentException"/>.
    /// </remarks>
    public IList<string> ReservedPaths { get; } = new ReservedPathList();

    /// <summary>Where <c>HttpRequest.Path</c> comes from.</summary>
    /// <remarks><see cref="FastCgiPathSource.RequestUri"/> by default.</remarks>
    public FastCgiPathSource PathSource { get; set; }

    /// <summary>Whether SCRIPT_NAME is the path base of a request that has PATH_INFO and no PATH_BASE.</summary>
    /// <remarks>
    /// <see langword="false"/> by default. Only for a web server that is configured to split the path where the application begins: with the stock
    /// configuration of nginx, Apache's <c>ProxyPass</c>, lighttpd or HAProxy, SCRIPT_NAME is not the path base.
    /// </remarks>
    public bool TrustScriptName { get; set; }

    /// <summary>The path under which the web server serves the application, such as <c>/app</c>.</summary>
    /// <remarks>
    /// Empty by default. A request whose path does not begin with it keeps its path whole. The parameter PATH_BASE, set in the
    /// web server's configuration (nginx: <c>fastcgi_param PATH_BASE /app;</c>), takes precedence.
    /// </remarks>
    /// <exception cref="ArgumentException">The value is not empty and does not begin with a slash.</exception>
    public string PathBase
    {
        get;
        set
        {
            ArgumentNullException.ThrowIfNull(value);
            if (value.Length > 0 && value[0] != '/')
                throw new ArgumentException($"The path base '{value}' must begin with a slash.", nameof(value));
            field = value.TrimEnd('/');
        }
    } = string.Empty;

    /// <summary>
    /// After how long a request is logged as slow, with what it waits for: as <c>request_slowlog_timeout</c> of php-fpm. It is looked at every
    /// second, while the request runs; at most 100 are logged in a minute.
    /// </summary>
    /// <remarks><see langword="null"/> by default: none is. More than zero.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan? SlowRequestThreshold
    {
        get;
        set
        {
            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(value.Value, TimeSpan.Zero);
            field = value;
        }
    }

    /// <summary>
    /// The path that the server answers itself with <c>pong</c>, such as <c>/ping</c>, so that a load balancer sees that it lives, however
    /// busy the application is. As <c>ping.path</c> of php-fpm; for GET and HEAD. The path is that behind the path base.
    /// </summary>
    /// <remarks><see langword="null"/> by default: none.</remarks>
    /// <exception cref="ArgumentException">The value does not begin with a slash.</exception>
    public string? PingPath
    {
        get;
        set
        {
            if (value is not null && !value.StartsWith('/'))
                throw new ArgumentException($"The path '{value}' must begin with a slash.", nameof(value));
            field = value;
        }
    }

    /// <summary>After how long without a request the application stops, to be started again by the next one.</summary>
    /// <remarks>
    /// <see langword="null"/> by default: never. It is of use where something else listens and starts the application on demand, such
    /// as a socket unit of systemd. Requests that Kestrel serves beside this server do not count. More than zero.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The value is not positive.</exception>
    public TimeSpan? IdleExit
    {
        get;
        set
        {
            if (value is not null)
                ArgumentOutOfRangeException.ThrowIfLessThanOrEqual(value.Value, TimeSpan.Zero);
            field = value;
        }
    }

    /// <summary>
    /// Whether the application sees a client certificate that the web server did not find valid (<c>SSL_CLIENT_VERIFY</c> is not
    /// SUCCESS), because it checks each one itself.
    /// </summary>
    /// <remarks>
    /// False by default. The client has proved that it owns the certificate, and nothing else. For <c>ssl_verify_client
    /// optional_no_ca</c> of nginx and <c>SSLVerifyClient optional_no_ca</c> of Apache.
    /// </remarks>
    public bool AllowUnverifiedClientCertificate { get; set; }

    /// <summary>
    /// The parameter with the web server's own id of the request, which <c>HttpContext.TraceIdentifier</c> then is: such as
    /// <c>REQUEST_ID</c> (nginx: <c>fastcgi_param REQUEST_ID $request_id;</c>) or <c>UNIQUE_ID</c> (mod_unique_id of Apache).
    /// </summary>
    /// <remarks>
    /// <see langword="null"/> by default: the id is the server's own. So it is where the parameter is absent, longer than 128
    /// characters, or has others than letters, digits and <c>-_.:@+/=</c>.
    /// </remarks>
    public string? TraceIdentifierParameter { get; set; }

    /// <summary>Chooses how the values of a request header are decoded, by its name; <see langword="null"/> is strict UTF-8.</summary>
    public Func<string, Encoding?>? RequestHeaderEncodingSelector { get; set; }

    /// <summary>Chooses how the values of a response header are encoded, by its name; <see langword="null"/> is ASCII.</summary>
    public Func<string, Encoding?>? ResponseHeaderEncodingSelector { get; set; }

    /// <summary>The endpoints that code and configuration have named.</summary>
    internal List<FastCgiListenOptions> ListenOptions { get; } = [];

    /// <summary>Listens on an address and port.</summary>
    /// <param name="address">The address, of IPv4 or IPv6.</param>
    /// <param name="port">The port; 0 lets the system choose one.</param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    /// <exception cref="ArgumentOutOfRangeException">The port is not between 0 and 65,535.</exception>
    public void Listen(IPAddress address, int port, Action<FastCgiListenOptions>? configure = null)
        => Listen(new IPEndPoint(address, port), configure);

    /// <summary>Listens on an endpoint.</summary>
    /// <param name="endPoint">
    /// An <see cref="IPEndPoint"/>, a <see cref="System.Net.Sockets.UnixDomainSocketEndPoint"/>, or one that a registered
    /// <see cref="IConnectionListenerFactory"/> can bind.
    /// </param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    public void Listen(EndPoint endPoint, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(endPoint);
        var options = new FastCgiListenOptions(endPoint);
        configure?.Invoke(options);
        ListenOptions.Add(options);
    }

    /// <summary>Listens on an address in text form.</summary>
    /// <param name="address">
    /// Such as <c>fastcgi://127.0.0.1:9000</c>, <c>fastcgi://[::1]:9000</c>, <c>fastcgi://*:9000</c>, <c>fastcgi://localhost:9000</c>,
    /// <c>fastcgi://unix:/run/app/app.sock</c>, <c>fastcgi://unix:@name</c>, <c>fastcgi://fd:0</c>, <c>fastcgi://fd:name</c>. Options of the
    /// endpoint may follow: <c>fastcgi://unix:/run/app/app.sock?mode=0660&amp;group=www-data</c>.
    /// </param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    /// <exception cref="FormatException">The address has none of these forms.</exception>
    public void Listen(string address, Action<FastCgiListenOptions>? configure = null)
    {
        foreach (var options in Hosting.EndpointAddress.ParseWithOptions(address))
        {
            configure?.Invoke(options);
            ListenOptions.Add(options);
        }
    }

    /// <summary>Listens on a port of the loopback interface, IPv4 and IPv6.</summary>
    /// <param name="port">The port, which cannot be 0, for both must have the same.</param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    public void ListenLocalhost(int port, Action<FastCgiListenOptions>? configure = null)
        => Listen($"fastcgi://localhost:{port.ToString(CultureInfo.InvariantCulture)}", configure);

    /// <summary>Listens on a port of all interfaces, IPv4 and IPv6.</summary>
    /// <param name="port">The port; 0 lets the system choose one.</param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    public void ListenAnyIP(int port, Action<FastCgiListenOptions>? configure = null) => Listen(IPAddress.IPv6Any, port, configure);

    /// <summary>Listens on a unix socket.</summary>
    /// <param name="socketPath">The path of the socket file, which is absolute, or <c>@</c> and a name without a file (Linux).</param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    public void ListenUnixSocket(string socketPath, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(socketPath);
        Listen(Hosting.EndpointAddress.ToUnixEndPoint(socketPath), configure);
    }

    /// <summary>Listens on a socket that the process was given by whoever started it, by its descriptor.</summary>
    /// <param name="handle">The descriptor, such as 0 for what spawn-fcgi and web servers pass.</param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    /// <remarks>
    /// Without an endpoint that names one, the server listens on all sockets that it was given: descriptor 0 if it is a listening socket,
    /// and those that systemd passed. With one, only on those that are named.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The descriptor is greater than any can be.</exception>
    public void ListenHandle(ulong handle, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(handle, (ulong)int.MaxValue);
        Listen(new FileHandleEndPoint(handle, FileHandleType.Auto), configure);
    }

    /// <summary>Listens on the sockets that systemd passed under a name.</summary>
    /// <param name="name"><c>FileDescriptorName=</c> of the <c>.socket</c> unit, which by default is the unit's name with <c>.socket</c>.</param>
    /// <param name="configure">Sets what is special about the endpoint.</param>
    /// <remarks>See <see cref="ListenHandle"/>.</remarks>
    public void ListenSystemdSocket(string name, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        Listen(new Hosting.InheritedSocketEndPoint(name), configure);
    }
}
