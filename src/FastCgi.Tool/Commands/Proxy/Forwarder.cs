namespace FastCgi.Tool.Commands.Proxy;

/// <param name="root">The full path of DOCUMENT_ROOT.</param>
/// <param name="timeout">How long the application may take to begin its response.</param>
internal sealed class Forwarder(
    FastCgiClient client, (string Name, string Value)[] parameters, string? root, TimeSpan timeout)
{
    // Hop-by-hop headers (RFC 9110, section 7.6.1).
    private static readonly string[] s_hopByHop =
        ["Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Trailer", "Proxy-Connection"];

    public async Task InvokeAsync(HttpContext context)
    {
        var forwarded = context.Features.Get<ForwardedRequest>()!;
        using var waiting = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted);
        await using var upload = new UploadStream(context.Request.Body, waiting, timeout);
        try
        {
            if (HttpMethods.IsConnect(context.Request.Method))
                throw new BadHttpRequestException("CONNECT is not supported", StatusCodes.Status405MethodNotAllowed);

            waiting.CancelAfter(timeout);
            await using var response = await client.SendAsync(CreateRequest(context, upload), waiting.Token);
            if (response.StatusCode < 200)
                throw new InvalidOperationException($"the response has the interim status {response.StatusCode}");

            await RespondAsync(context, forwarded, response);
        }
        catch (Exception exception) when (!context.Response.HasStarted
            && Explain(exception, context.RequestAborted.IsCancellationRequested) is var (status, message))
        {
            forwarded.Note = status == 500 ? $"{message}: {exception.Message}" : message;
            forwarded.StandardError = (exception as FastCgiProtocolException)?.Completion?.StandardError;
            context.Response.Clear();
            context.Response.StatusCode = status;
            context.Response.ContentType = "text/plain; charset=utf-8";
            var text = $"{status}: {message}\n";
            context.Response.ContentLength = Encoding.UTF8.GetByteCount(text);
            await context.Response.WriteAsync(text);
        }
        catch (Exception exception) when (exception is OperationCanceledException or ConnectionResetException
            || context.RequestAborted.IsCancellationRequested)
        {
            // The status that nginx logs for a disconnect.
            forwarded.Status = 499;
            forwarded.Bytes ??= 0;
            forwarded.Note = "the client disconnected";
        }
    }

    /// <summary>The response instead of that of the application, unless the client has disconnected.</summary>
    private (int Status, string Message)? Explain(Exception exception, bool isAborted) => exception switch
    {
        // HTTP does not allow a header or the status.
        InvalidOperationException => (StatusCodes.Status502BadGateway, exception.Message),
        SocketException or FastCgiProtocolException => (StatusCodes.Status502BadGateway, exception.Message),
        OperationCanceledException when !isAborted => (StatusCodes.Status504GatewayTimeout,
            Invariant($"the response did not begin within {timeout.TotalSeconds} s")),
        // The client's body is incomplete, for example.
        BadHttpRequestException bad => (bad.StatusCode, bad.Message),
        (IOException and not ConnectionResetException) or UnauthorizedAccessException when !isAborted
            => (StatusCodes.Status500InternalServerError, "the request body could not be buffered"),
        _ => null,
    };

    private static async Task RespondAsync(
        HttpContext context, ForwardedRequest forwarded, FastCgiResponseMessage response)
    {
        SetHead(context, response);
        await context.Response.StartAsync(context.RequestAborted);
        try
        {
            forwarded.Bytes = 0;
            var buffer = new byte[64 * 1024];
            while (await response.Body.ReadAsync(buffer, context.RequestAborted) is > 0 and var read)
            {
                await context.Response.Body.WriteAsync(buffer.AsMemory(0, read), context.RequestAborted);
                forwarded.Bytes += read;
            }

            forwarded.StandardError = (await response.Completion.WaitAsync(context.RequestAborted)).StandardError;
        }
        catch (Exception exception) when (exception is IOException or InvalidOperationException)
        {
            // The client must see that the response is incomplete.
            forwarded.Note = exception.Message;
            forwarded.StandardError = response.StandardError;
            context.Abort();
        }
    }

    private static void SetHead(HttpContext context, FastCgiResponseMessage response)
    {
        context.Response.StatusCode = response.StatusCode;
        if (response.ReasonPhrase.Length > 0)
            context.Features.Get<IHttpResponseFeature>()!.ReasonPhrase = response.ReasonPhrase;
        var dropped = GetHopByHop(response.Headers
            .Where(static header => header.Key.Equals("Connection", StringComparison.OrdinalIgnoreCase))
            .Select(static header => header.Value));
        // Kestrel rejects a length where HTTP allows none (RFC 9110, section 8.6).
        if (response.StatusCode is 204 or 205)
            dropped.Add("Content-Length");
        foreach (var header in response.Headers.Where(header => !dropped.Contains(header.Key)))
            context.Response.Headers.Append(header.Key, header.Value);
    }

    /// <summary>The headers that are not forwarded: hop-by-hop ones and those named in <c>Connection</c>.</summary>
    private static HashSet<string> GetHopByHop(IEnumerable<string?> connection)
        => new(s_hopByHop.Concat(
            connection.SelectMany(static value => (value ?? "").Split(',', StringSplitOptions.TrimEntries))),
            StringComparer.OrdinalIgnoreCase);

    private FastCgiRequestMessage CreateRequest(HttpContext context, UploadStream upload)
    {
        var http = context.Request;
        var hasBody = context.Features.Get<IHttpRequestBodyDetectionFeature>()!.CanHaveBody;
        var request = new FastCgiRequestMessage { Body = hasBody ? upload : null };
        var raw = context.Features.Get<IHttpRequestFeature>()!.RawTarget;
        // Like nginx, without the scheme and host of an absolute URL.
        var target = RequestTarget.TryParse(raw)?.PathAndQuery ?? raw;
        HttpParameters.AddTarget(request.Parameters, http.Method, target,
            Encoding.Latin1.GetBytes(http.ContentType ?? ""), Invariant($"{http.ContentLength}"));
        // Like nginx, without dot segments: an application opens the file that SCRIPT_FILENAME names.
        var path = http.Path.HasValue ? http.Path.Value : "/";
        request.Parameters["SCRIPT_NAME"] = request.Parameters["DOCUMENT_URI"] = path;
        var connection = context.Connection;
        HttpParameters.AddConnection(request.Parameters, http.Scheme, http.Protocol,
            ToEndPoint(connection.RemoteIpAddress, connection.RemotePort),
            ToEndPoint(connection.LocalIpAddress, connection.LocalPort),
            http.Host.HasValue ? http.Host.Host : "localhost");
        if (root is not null)
        {
            request.Parameters.Add("DOCUMENT_ROOT", root);
            request.Parameters.Add("SCRIPT_FILENAME", root + path);
        }

        var dropped = GetHopByHop(http.Headers.Connection);
        foreach (var (name, values) in http.Headers
            .Where(header => HttpParameters.IsPassed(header.Key) && !dropped.Contains(header.Key)))
        {
            var separator = name.Equals("Cookie", StringComparison.OrdinalIgnoreCase) ? "; " : ", ";
            var text = string.Join(separator, (IEnumerable<string?>)values);
            request.Parameters.Add(
                Encoding.ASCII.GetBytes(HttpParameters.ToParameterName(name)), Encoding.Latin1.GetBytes(text));
        }

        foreach (var (name, value) in parameters)
            request.Parameters[name] = value;
        return request;
    }

    private static IPEndPoint ToEndPoint(IPAddress? address, int port)
    {
        address ??= IPAddress.Loopback;
        return new IPEndPoint(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address, port);
    }

    /// <summary>The client's body. The timeout of the application is suspended while the client is sending.</summary>
    private sealed class UploadStream(
        Stream body, CancellationTokenSource timeout, TimeSpan time) : ForwardStream(canRead: true)
    {
        public override async ValueTask<int> ReadAsync(
            Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            timeout.CancelAfter(Timeout.InfiniteTimeSpan);
            var read = await body.ReadAsync(buffer, cancellationToken);
            timeout.CancelAfter(time);
            return read;
        }
    }
}
