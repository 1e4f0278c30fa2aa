namespace FastCgi.Client;

/// <summary>
/// Lets <see cref="HttpClient"/> speak FastCGI. The parameters are those of nginx's <c>fastcgi_params</c>. Both bodies
/// are streamed; a request body of unknown length is buffered first. The host of the URL only sets parameters; the
/// connection goes to the address of the handler. The handler does not follow redirects, store cookies or decompress
/// responses.
/// </summary>
/// <param name="address">The address, in one of the forms of <see cref="FastCgiAddress"/>.</param>
/// <param name="options">The options, or <see langword="null"/> for the defaults.</param>
/// <exception cref="FormatException">The address has none of these forms.</exception>
public sealed class FastCgiHttpHandler(string address, FastCgiClientOptions? options = null) : HttpMessageHandler
{
    private readonly FastCgiClient _client = new(address, options);

    /// <summary>
    /// Gets the key of <see cref="HttpRequestMessage.Options"/> for additional parameters of one request. They replace
    /// parameters of the same name, also those of <see cref="Parameters"/>.
    /// </summary>
    public static HttpRequestOptionsKey<IEnumerable<KeyValuePair<string, string>>> RequestParameters { get; } =
        new("FastCgi.Client.RequestParameters");

    /// <summary>
    /// Gets additional parameters for each request, such as SCRIPT_FILENAME and DOCUMENT_ROOT for php-fpm. They replace
    /// parameters of the same name. Set them before the first request.
    /// </summary>
    public IDictionary<string, string> Parameters { get; } = new Dictionary<string, string>(StringComparer.Ordinal);

    /// <summary>Gets or sets REMOTE_ADDR and REMOTE_PORT. Defaults to 127.0.0.1, port 0.</summary>
    public IPEndPoint RemoteEndPoint { get; set; } = new(IPAddress.Loopback, 0);

    /// <summary>Gets or sets SERVER_ADDR. Defaults to 127.0.0.1. SERVER_PORT comes from the URL.</summary>
    public IPEndPoint LocalEndPoint { get; set; } = new(IPAddress.Loopback, 0);

    /// <summary>Gets or sets a callback for standard error, called on any thread when a request has ended.</summary>
    public Action<HttpRequestMessage, string>? StandardErrorReceived { get; set; }

    /// <inheritdoc/>
    /// <exception cref="HttpRequestException">The request failed. The inner exception contains the cause.</exception>
    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        ArgumentNullException.ThrowIfNull(request);
        if (request.RequestUri is not { IsAbsoluteUri: true, Scheme: "http" or "https" })
            throw new InvalidOperationException(
                "The URL of the request must be absolute and begin with http:// or https://.");

        return await RequestTelemetry.MeasureAsync(request, () => SendMeasuredAsync(request, cancellationToken))
            .ConfigureAwait(false);
    }

    /// <inheritdoc/>
    // Starts on this thread, because all threads of the pool may be waiting here.
    protected override HttpResponseMessage Send(HttpRequestMessage request, CancellationToken cancellationToken)
        => SendAsync(request, cancellationToken).GetAwaiter().GetResult();

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
            _client.Dispose();
        base.Dispose(disposing);
    }

    private async Task<HttpResponseMessage> SendMeasuredAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var body = request.Content is null ? null : new ContentSource(null, request.Content);
        var sent = new FastCgiRequestMessage { BodySource = body, Parameters = HttpParameters.Create(request, this) };
        FastCgiResponseMessage response;
        try
        {
            response = await _client.SendAsync(sent, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or FastCgiProtocolException)
        {
            Report(request, (exception as FastCgiProtocolException)?.Completion);
            throw ToHttpException(exception);
        }

        _ = response.Completion.ContinueWith(
            ended => Report(request, ended.IsCompletedSuccessfully ? ended.Result : null), TaskScheduler.Default);
        return ToMessage(request, response);
    }

    private static HttpRequestException ToHttpException(Exception exception)
    {
        var error = (exception as FastCgiProtocolException)?.Error switch
        {
            null => HttpRequestError.ConnectionError,
            FastCgiProtocolError.ConnectionClosed => HttpRequestError.ResponseEnded,
            FastCgiProtocolError.HeadersTooLarge => HttpRequestError.ConfigurationLimitExceeded,
            FastCgiProtocolError.RequestBodyLength => HttpRequestError.Unknown,
            _ => HttpRequestError.InvalidResponse,
        };
        return new HttpRequestException(error, exception.Message, exception);
    }

    private static HttpResponseMessage ToMessage(HttpRequestMessage request, FastCgiResponseMessage response)
    {
        var message = new HttpResponseMessage((HttpStatusCode)response.StatusCode)
        {
            ReasonPhrase = response.ReasonPhrase,
            RequestMessage = request,
            Content = new ResponseContent(response.Body),
        };
        foreach (var (name, value) in response.Headers)
        {
            if (!message.Headers.TryAddWithoutValidation(name, value))
                message.Content.Headers.TryAddWithoutValidation(name, value);
        }

        return message;
    }

    private void Report(HttpRequestMessage request, FastCgiCompletion? completion)
    {
        if (completion is { StandardError.Length: > 0 })
            StandardErrorReceived?.Invoke(request, completion.StandardError);
    }

    /// <summary>Adds the cause of a failure, because the message of <see cref="HttpClient"/> is generic.</summary>
    private sealed class ResponseContent(Stream body) : StreamContent(body)
    {
        protected override async Task SerializeToStreamAsync(
            Stream stream, TransportContext? context, CancellationToken cancellationToken)
        {
            try
            {
                await base.SerializeToStreamAsync(stream, context, cancellationToken).ConfigureAwait(false);
            }
            catch (FastCgiProtocolException exception)
            {
                throw ToHttpException(exception);
            }
        }
    }
}
