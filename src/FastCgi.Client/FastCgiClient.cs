using FastCgi.Client.Connections;
using FastCgi.Client.Streams;

namespace FastCgi.Client;

/// <summary>
/// The web server's side of FastCGI 1.0: sends requests to an application at one address over connections that it keeps. It may be used from several
/// threads at once, and is meant to live as long as the program.
/// </summary>
public sealed class FastCgiClient : IDisposable
{
    // A kept connection that the application has just closed is found so now and then; several in a row are no accident.
    private const int MaxAttempts = 4;

    private readonly FastCgiClientOptions _options;
    private readonly ConnectionPool _pool;

    /// <summary>Creates a client. It connects with the first request.</summary>
    /// <param name="address">Where the application listens, in a form of <see cref="FastCgiAddress"/>.</param>
    /// <param name="options">How connections are used; the defaults if not given. Later changes of it have no effect.</param>
    /// <exception cref="FormatException">The address has none of the forms.</exception>
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

    /// <summary>Where the application listens.</summary>
    public FastCgiAddress Address { get; }

    /// <summary>
    /// Sends a request and waits for the header block of the answer. The bodies of both stream: that of the request is sent as it is read, that of the
    /// answer is received as it is read. If a kept connection turns out closed before anything of the answer has come, the request is sent again, if its
    /// body can be, and if that does no harm (<see cref="FastCgiClientOptions.RetriesUnsafeRequests"/>).
    /// </summary>
    /// <param name="request">What to send.</param>
    /// <param name="cancellationToken">Aborts the request, until the header block has come. Behind it, disposing the answer does.</param>
    /// <returns>The answer. Dispose it.</returns>
    /// <exception cref="FastCgiProtocolException">There is no answer, or it is malformed.</exception>
    /// <exception cref="SocketException">No connection could be made.</exception>
    /// <exception cref="OperationCanceledException">It was aborted.</exception>
    /// <exception cref="ObjectDisposedException">The client was disposed of before there was a connection.</exception>
    public async Task<FastCgiResponseMessage> SendAsync(FastCgiRequestMessage request, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(request);
        var (sent, buffer) = await DeclareLengthAsync(request, cancellationToken).ConfigureAwait(false);
        var sending = Task.CompletedTask;
        try
        {
            for (var attempt = 1; ; attempt++)
            {
                cancellationToken.ThrowIfCancellationRequested();
                var (connection, isShared) = await _pool.AcquireAsync(cancellationToken).ConfigureAwait(false);
                var exchange = connection.Begin(sent, isShared);
                sending = exchange.Sending;
                try
                {
                    return await exchange.ReadHeadAsync(cancellationToken).ConfigureAwait(false);
                }
                catch (FastCgiProtocolException exception) when (attempt < MaxAttempts && MayRetry(exchange, exception, isShared))
                {
                    // Two connections must not read the body at the same time. Meanwhile, more of it may have been sent.
                    await sending.WaitAsync(cancellationToken).ConfigureAwait(false);
                    if (!MayRetry(exchange, exception, isShared))
                        throw;
                }
            }
        }
        finally
        {
            // The answer may come before the whole body has been sent.
            if (buffer is not null)
                _ = sending.ContinueWith(_ => buffer.Dispose(), TaskScheduler.Default);
        }
    }

    /// <summary>Asks the application for its limits with FCGI_GET_VALUES (FastCGI specification, section 4.1), on a connection of its own.</summary>
    /// <param name="names">Such as FCGI_MAX_CONNS, FCGI_MAX_REQS and FCGI_MPXS_CONNS.</param>
    /// <param name="cancellationToken">Ends the wait. An application that does not know the question may not answer.</param>
    /// <returns>The names that the application knows, and their values.</returns>
    /// <exception cref="FastCgiProtocolException">The application closed the connection, or answered with something else.</exception>
    /// <exception cref="SocketException">No connection could be made.</exception>
    /// <exception cref="ObjectDisposedException">The client was disposed of before there was a connection.</exception>
    public async Task<IReadOnlyDictionary<string, string>> GetValuesAsync(IEnumerable<string> names, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(names);
        using var connection = await _pool.OpenAloneAsync(cancellationToken).ConfigureAwait(false);
        return await connection.GetValuesAsync(names, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Closes all connections. Requests that have not ended fail.</summary>
    public void Dispose() => _pool.Dispose();

    /// <summary>Adds CONTENT_LENGTH for a body that has none; most applications would read an empty one.</summary>
    private async Task<(FastCgiRequestMessage, BodyBuffer?)> DeclareLengthAsync(FastCgiRequestMessage request, CancellationToken cancellationToken)
    {
        if (request.BodySource is not { } body || !string.IsNullOrEmpty(request.Parameters["CONTENT_LENGTH"])
            || (_options.StreamsBodiesOfUnknownLength && body.Length is null))
            return (request, null);
        // The files of /proc have the length 0, and content.
        if (body.Length is > 0 and var length)
            return (request.WithBody(body, length), null);

        var buffer = await BodyBuffer.CreateAsync(body, cancellationToken).ConfigureAwait(false);
        return (request.WithBody(new StreamSource(buffer.Content), buffer.Content.Length), buffer);
    }

    private bool MayRetry(Exchange exchange, FastCgiProtocolException exception, bool isShared)
    {
        var request = exchange.Request;
        if (isShared && exception.Completion is { ProtocolStatus: FastCgiProtocolStatus.CantMultiplexConnection })
        {
            // It said otherwise, or the options did. The request was not begun.
            _pool.StopSharing();
            return request.CanSendAgain;
        }

        if (exception.Error != FastCgiProtocolError.ConnectionClosed || exchange.HasReceived || !request.CanSendAgain)
            return false;
        return exchange.IsUnsent || (exchange.IsReused && (request.IsIdempotent || _options.RetriesUnsafeRequests));
    }
}
