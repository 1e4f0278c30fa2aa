namespace FastCgi.AspNetCore;

/// <summary>
/// Configures the FastCGI server. The configuration section <c>FastCgi</c> sets the same options; values set in code
/// take precedence.
/// </summary>
public sealed class FastCgiServerOptions
{
    /// <summary>
    /// Gets or sets a value that indicates whether the application may read and write bodies synchronously.
    /// </summary>
    /// <remarks>Defaults to <see langword="false"/>, as in Kestrel: a synchronous call blocks a thread.</remarks>
    public bool AllowSynchronousIO { get; set; }

    /// <summary>
    /// Gets or sets a value that indicates whether the server logs how to fix the web server, application and system
    /// configuration.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="true"/>. Advice is logged at Warning or Information, each message at most once a
    /// minute. If disabled, the status page lists no web servers and no recommendations, and
    /// <see cref="SlowRequestThreshold"/> has no effect.
    /// </remarks>
    public bool EnableAdvice { get; set; } = true;

    /// <summary>Gets the limits that protect the application from web servers and their clients.</summary>
    public FastCgiServerLimits Limits { get; } = new();

    /// <summary>Gets the options of the transport and of the threads that run the application.</summary>
    public FastCgiTransportOptions Transport { get; } = new();

    /// <summary>Gets the options for files that the web server sends itself.</summary>
    /// <remarks>It sends none by default.</remarks>
    public FastCgiSendFileOptions SendFile { get; } = new();

    /// <summary>
    /// Gets the FastCGI roles that the application serves. The server refuses requests in other roles with
    /// UNKNOWN_ROLE.
    /// </summary>
    /// <remarks>
    /// Defaults to <see cref="FastCgiRole.Responder"/>. Routing selects endpoints by role too: see
    /// <see cref="FastCgiRoleAttribute"/>.
    /// </remarks>
    public ISet<FastCgiRole> Roles { get; } = new HashSet<FastCgiRole> { FastCgiRole.Responder };

    /// <summary>Gets or sets the parameter that <c>HttpRequest.Path</c> comes from.</summary>
    /// <remarks>Defaults to <see cref="FastCgiPathSource.RequestUri"/>.</remarks>
    public FastCgiPathSource PathSource { get; set; }

    /// <summary>
    /// Gets or sets a value that indicates whether SCRIPT_NAME is the path base of a request with PATH_INFO and without
    /// PATH_BASE.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="false"/>. Enable it only if the web server is configured to split the path where the
    /// application begins: with the default configuration of nginx, Apache's <c>ProxyPass</c>, lighttpd and HAProxy,
    /// SCRIPT_NAME is not the path base.
    /// </remarks>
    public bool TrustScriptName { get; set; }

    /// <summary>Gets or sets the path under which the web server serves the application, such as <c>/app</c>.</summary>
    /// <remarks>
    /// Empty by default. If the path of a request does not begin with it, the path is left unchanged. The parameter
    /// PATH_BASE, set in the web server's configuration (nginx: <c>fastcgi_param PATH_BASE /app;</c>), takes
    /// precedence.
    /// </remarks>
    /// <exception cref="ArgumentException">
    /// The value is not empty and does not begin with a slash, or contains a query or fragment.
    /// </exception>
    public string PathBase
    {
        get;
        set
        {
            ArgumentNullException.ThrowIfNull(value);
            if (value.Length > 0 && value[0] != '/')
                throw new ArgumentException(
                    $"The path base '{value}' must begin with a slash: '/{value}'.", nameof(value));
            if (value.AsSpan().ContainsAny('?', '#'))
                throw new ArgumentException($"The path base '{value}' must be a path only.", nameof(value));
            field = value.TrimEnd('/');
        }
    } = string.Empty;

    /// <summary>
    /// Gets or sets how long a request may run before it is logged as slow, with what it is waiting for, like
    /// <c>request_slowlog_timeout</c> of php-fpm. Running requests are checked every second; at most 100 are logged per
    /// minute.
    /// </summary>
    /// <remarks>Defaults to <see langword="null"/>: no request is logged. Must be greater than zero.</remarks>
    public TimeSpan? SlowRequestThreshold
    {
        get;
        set => field = FastCgiServerLimits.PositiveOrNull(value);
    }

    /// <summary>
    /// Gets or sets the path, such as <c>/ping</c>, for which the server itself returns <c>pong</c>, so that a load
    /// balancer can check it even if the application is busy, like <c>ping.path</c> of php-fpm. It applies to GET and
    /// HEAD. The path excludes the path base.
    /// </summary>
    /// <remarks>Defaults to <see langword="null"/>: disabled.</remarks>
    /// <exception cref="ArgumentException">The value does not begin with a slash.</exception>
    public string? PingPath
    {
        get;
        set
        {
            if (value is not null && !value.StartsWith('/'))
                throw new ArgumentException($"The path '{value}' must begin with a slash: '/{value}'.", nameof(value));
            field = value;
        }
    }

    /// <summary>Gets or sets how long the server may be without a request before it stops the application.</summary>
    /// <remarks>
    /// Defaults to <see langword="null"/>: never. Use it if something else listens and starts the application on
    /// demand, such as a systemd socket unit. Requests that Kestrel serves in the same process count too. Must be
    /// greater than zero.
    /// </remarks>
    public TimeSpan? IdleExit
    {
        get;
        set => field = FastCgiServerLimits.PositiveOrNull(value);
    }

    /// <summary>
    /// Gets or sets a value that indicates whether the application sees client certificates that the web server has not
    /// verified (<c>SSL_CLIENT_VERIFY</c> is not SUCCESS), because it verifies them itself.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="false"/>. Such a client has proved only that it owns the certificate. Use it with
    /// <c>ssl_verify_client optional_no_ca</c> of nginx and <c>SSLVerifyClient optional_no_ca</c> of Apache.
    /// </remarks>
    public bool AllowUnverifiedClientCertificate { get; set; }

    /// <summary>
    /// Gets or sets the parameter that contains the web server's id of the request, for
    /// <c>HttpContext.TraceIdentifier</c>, such as <c>REQUEST_ID</c> (nginx: <c>fastcgi_param REQUEST_ID
    /// $request_id;</c>) or <c>UNIQUE_ID</c> (Apache: mod_unique_id).
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="null"/>: the server generates the id. It also does so if the parameter is absent,
    /// longer than 128 characters, or contains characters other than letters, digits and <c>-_.:@+/=</c>.
    /// </remarks>
    public string? TraceIdentifierParameter { get; set; }

    /// <summary>
    /// Gets or sets a callback that returns the <see cref="Encoding"/> of a request header by name, or
    /// <see langword="null"/> for UTF-8.
    /// </summary>
    public Func<string, Encoding?>? RequestHeaderEncodingSelector { get; set; }

    /// <summary>
    /// Gets or sets a callback that returns the <see cref="Encoding"/> of a response header by name, or
    /// <see langword="null"/> for ASCII.
    /// </summary>
    public Func<string, Encoding?>? ResponseHeaderEncodingSelector { get; set; }

    /// <summary>The endpoints from code and configuration.</summary>
    internal List<FastCgiListenOptions> ListenOptions { get; } = [];

    /// <summary>Listens on an IP address and port.</summary>
    /// <param name="address">The IPv4 or IPv6 address.</param>
    /// <param name="port">The port; 0 lets the system choose one.</param>
    /// <param name="configure">Configures the endpoint.</param>
    /// <exception cref="ArgumentOutOfRangeException">The port is not between 0 and 65,535.</exception>
    public void Listen(IPAddress address, int port, Action<FastCgiListenOptions>? configure = null)
        => Listen(new IPEndPoint(address, port), configure);

    /// <summary>Listens on an endpoint.</summary>
    /// <param name="endPoint">
    /// An <see cref="IPEndPoint"/>, a <see cref="System.Net.Sockets.UnixDomainSocketEndPoint"/>, or one that a
    /// registered <see cref="IConnectionListenerFactory"/> can bind.
    /// </param>
    /// <param name="configure">Configures the endpoint.</param>
    public void Listen(EndPoint endPoint, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(endPoint);
        var options = new FastCgiListenOptions(endPoint);
        configure?.Invoke(options);
        ListenOptions.Add(options);
    }

    /// <summary>Listens on an address in text form.</summary>
    /// <param name="address">
    /// The address, such as <c>fastcgi://127.0.0.1:9000</c>, <c>fastcgi://[::1]:9000</c>, <c>fastcgi://*:9000</c>,
    /// <c>fastcgi://localhost:9000</c>, <c>fastcgi://unix:/run/app/app.sock</c>, <c>fastcgi://unix:@name</c>,
    /// <c>fastcgi://fd:0</c> or <c>fastcgi://fd:name</c>. It may include endpoint options:
    /// <c>fastcgi://unix:/run/app/app.sock?mode=0660&amp;group=www-data</c>.
    /// </param>
    /// <param name="configure">Configures the endpoint.</param>
    /// <exception cref="FormatException">The address has none of these forms.</exception>
    public void Listen(string address, Action<FastCgiListenOptions>? configure = null)
    {
        foreach (var options in Hosting.Endpoints.EndpointAddress.ParseWithOptions(address))
        {
            configure?.Invoke(options);
            ListenOptions.Add(options);
        }
    }

    /// <summary>Listens on a port of the loopback interface, IPv4 and IPv6.</summary>
    /// <param name="port">The port. It cannot be 0, because both addresses must have the same port.</param>
    /// <param name="configure">Configures the endpoint.</param>
    public void ListenLocalhost(int port, Action<FastCgiListenOptions>? configure = null)
        => Listen($"fastcgi://localhost:{port.ToString(CultureInfo.InvariantCulture)}", configure);

    /// <summary>Listens on a port of all interfaces, IPv4 and IPv6.</summary>
    /// <param name="port">The port; 0 lets the system choose one.</param>
    /// <param name="configure">Configures the endpoint.</param>
    public void ListenAnyIP(int port, Action<FastCgiListenOptions>? configure = null)
        => Listen(IPAddress.IPv6Any, port, configure);

    /// <summary>Listens on a Unix socket.</summary>
    /// <param name="socketPath">
    /// The absolute path of the socket file, or <c>@</c> and the name of an abstract socket (Linux).
    /// </param>
    /// <param name="configure">Configures the endpoint.</param>
    public void ListenUnixSocket(string socketPath, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(socketPath);
        Listen(Hosting.Endpoints.EndpointAddress.ToUnixEndPoint(socketPath), configure);
    }

    /// <summary>Listens on an inherited socket, by its file descriptor.</summary>
    /// <param name="handle">The descriptor, such as 0 for the socket that spawn-fcgi and web servers pass.</param>
    /// <param name="configure">Configures the endpoint.</param>
    /// <remarks>
    /// If no endpoint names an inherited socket, the server listens on all of them: descriptor 0 if it is a listening
    /// socket, and those that systemd passed. Otherwise, it listens only on those that endpoints name.
    /// </remarks>
    /// <exception cref="ArgumentOutOfRangeException">The descriptor is greater than 2,147,483,647.</exception>
    public void ListenHandle(ulong handle, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(handle, (ulong)int.MaxValue);
        Listen(new FileHandleEndPoint(handle, FileHandleType.Auto), configure);
    }

    /// <summary>Listens on the sockets that systemd passed under a name.</summary>
    /// <param name="name">
    /// <c>FileDescriptorName=</c> of the <c>.socket</c> unit; defaults to the unit's name including <c>.socket</c>.
    /// </param>
    /// <param name="configure">Configures the endpoint.</param>
    /// <remarks>See <see cref="ListenHandle"/>.</remarks>
    public void ListenSystemdSocket(string name, Action<FastCgiListenOptions>? configure = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        Listen(new Hosting.Endpoints.InheritedSocketEndPoint(name), configure);
    }
}
