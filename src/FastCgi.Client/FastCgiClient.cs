namespace FastCgi.Client;

/// <summary>
/// Sends FastCGI 1.0 requests to an application at one address, through a connection pool. Instances are thread-safe;
/// reuse one for the lifetime of the program.
/// </summary>
public sealed class FastCgiClient : IDisposable
{
    // One stale pooled connection is normal; several in a row indicate a fault.
    private const int MaxAttempts = 4;

    private readonly FastCgiClientOptions _options;
    private readonly ConnectionPool _pool;

    /// <summary>Initializes a new instance of the class. The first request opens a connection.</summary>
    /// <param name="address">The address, in one of the forms of <see cref="FastCgiAddress"/>.</param>
    /// <param name="options">The options, which are copied, or <see langword="null"/> for the defaults.</param>
    /// <exception cref="FormatException">The address has none of these forms.</exception>
    public FastCgiClient(string address, FastCgiClientOptions? options = null)
        : this(FastCgiAddress.Parse(address), options)
    {
    }

    /// <inheritdoc cref="FastCgiClient(string, FastCgiClientOptions?)"/>
    public FastCgiClient(FastCgiAddress address, FastCgiClientOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(address);
        Address = address;
        _options = options?.Clone() ?? new FastCgiClientOptions();
        _pool = new ConnectionPool(address, _options);
    }

    /// <summary>Gets the address of the application.</summary>
    public FastCgiAddress Address { get; }

    /// <summary>
    /// Sends a request and waits for the response headers. Both bodies are streamed. If a keep-alive connection is
    /// closed before any of the response has arrived, the request is sent again, provided that its body can be sent
    /// again and repeating it is safe (<see cref="FastCgiClientOptions.RetriesUnsafeRequests"/>, or FastCgi.AspNetCore
    /// announced that it has not executed the request). A body that is shorter or longer than its CONTENT_LENGTH fails
    /// the request, even if the application has already responded: this method throws, or reading the response body
    /// does.
    /// </summary>
    /// <param name="request">The request.</param>
    /// <param name="cancellationToken">Aborts the request until the headers have arrived.</param>
    /// <returns>The response, which the caller must dispose.</returns>
    /// <exception cref="FastCgiProtocolException">The response is invalid, or a body has a wrong length.</exception>
    /// <exception cref="SocketException">The connection failed.</exception>
    /// <exception cref="OperationCanceledException">The request was aborted.</exception>
    /// <exception cref="ObjectDisposedException">The client was disposed before it had a connection.</exception>
    public async Task<FastCgiResponseMessage> SendAsync(
        FastCgiRequestMessage request, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(request);
        var (sent, buffer) = await DeclareLengthAsync(request, cancellationToken).ConfigureAwait(false);
        var sending = Task.CompletedTask;
        try
        {
            for (var attempt = 1; ; attempt++)
            {
                cancellationToken.ThrowIfCancellationRequested();
                var connection = await _pool.AcquireAsync(isNew: false, cancellationToken).ConfigureAwait(false);
                var exchange = connection.Begin(sent);
                sending = exchange.Sent.Task;
                try
                {
                    return await exchange.ReadHeadAsync(cancellationToken).ConfigureAwait(false);
                }
                catch (FastCgiProtocolException exception) when (attempt < MaxAttempts && exchange.MayRetry(exception))
                {
                    // Two attempts must not read the body at once. Until this one stops, it may send more.
                    await sending.WaitAsync(cancellationToken).ConfigureAwait(false);
                    if (!exchange.MayRetry(exception))
                        throw;
                }
            }
        }
        finally
        {
            // The response may arrive before the whole body has been sent.
            if (buffer is not null)
                _ = sending.ContinueWith(_ => buffer.Dispose(), TaskScheduler.Default);
        }
    }

    /// <summary>
    /// Gets the limits of the application with FCGI_GET_VALUES (FastCGI specification, section 4.1), on a separate
    /// connection.
    /// </summary>
    /// <param name="names">The names, such as FCGI_MAX_CONNS, FCGI_MAX_REQS and FCGI_MPXS_CONNS.</param>
    /// <param name="cancellationToken">Cancels the call. Some applications never respond.</param>
    /// <returns>The names that the application knows, and their values.</returns>
    /// <exception cref="FastCgiProtocolException">There is no valid response.</exception>
    /// <exception cref="SocketException">The connection failed.</exception>
    /// <exception cref="ObjectDisposedException">The client was disposed before it had a connection.</exception>
    public async Task<IReadOnlyDictionary<string, string>> GetValuesAsync(
        IEnumerable<string> names, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(names);
        using var connection = await _pool.AcquireAsync(isNew: true, cancellationToken).ConfigureAwait(false);
        return await connection.GetValuesAsync(names, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Closes all connections. Active requests fail.</summary>
    public void Dispose() => _pool.Dispose();

    /// <summary>Adds CONTENT_LENGTH for a body that has none; most applications would read an empty one.</summary>
    private async Task<(FastCgiRequestMessage, BodyBuffer?)> DeclareLengthAsync(
        FastCgiRequestMessage request, CancellationToken cancellationToken)
    {
        if (request.BodySource is not { } body || !string.IsNullOrEmpty(request.Parameters["CONTENT_LENGTH"])
            || (_options.StreamsBodiesOfUnknownLength && body.Length is null))
            return (request, null);
        // Files in /proc report a length of 0 but have content.
        if (body.Length is > 0 and var length)
            return (request.WithBody(body, length), null);

        var buffer = await BodyBuffer.CreateAsync(body, cancellationToken).ConfigureAwait(false);
        return (request.WithBody(new ContentSource(buffer.Content), buffer.Content.Length), buffer);
    }
}
