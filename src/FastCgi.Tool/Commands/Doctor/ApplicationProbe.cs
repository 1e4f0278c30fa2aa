namespace FastCgi.Tool.Commands.Doctor;

/// <summary>The protocol of the program at an address.</summary>
internal enum Spoken
{
    Nothing,
    FastCgi,
    Http,
    Tls,
}

/// <summary>The result of a probe, with the size of all response headers and of the longest one.</summary>
internal sealed record ProbeResult(
    SocketError? ConnectError, Spoken Spoken, int Status = 0, int HeadSize = 0, TimeSpan Elapsed = default,
    string? Flaw = null, int LongestHeader = 0, bool IsPhp = false);

/// <summary>Connects to an address and detects its protocol.</summary>
internal sealed class ApplicationProbe(
    FastCgiAddress address, string path, (string Name, string Value)[] parameters, TimeSpan timeout)
{
    public const string Silence = "nothing came";
    private const string Host = "localhost";

    // A ClientHello of TLS 1.2. TLS servers respond with a handshake (22) or an alert (21).
    private static readonly byte[] s_hello =
        [22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3, .. new byte[32], 0, 0, 2, 0xC0, 0x2F, 1, 0];

    public async Task<ProbeResult> RunAsync(CancellationToken cancellationToken)
    {
        if (await ExchangeAsync([], cancellationToken) is (_, { } error))
            return new ProbeResult(error, Spoken.Nothing);

        var answer = await RequestAsync(cancellationToken);
        return answer.Flaw is null || answer.Spoken == Spoken.FastCgi
            ? answer
            : answer with { Spoken = await FindProtocolAsync(cancellationToken) };
    }

    /// <summary>The response of the application to GET_VALUES.</summary>
    /// <returns><see langword="null"/> if there is none.</returns>
    public async Task<string?> GetValuesAsync(CancellationToken cancellationToken)
    {
        using var limit = CreateLimit(cancellationToken);
        using var client = CreateClient();
        try
        {
            var values = await client.GetValuesAsync(
                ["FCGI_MAX_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS"], limit.Token);
            return string.Join(", ", values.Select(static pair => $"{pair.Key}={pair.Value}"));
        }
        catch (Exception exception) when (IsFailure(exception, cancellationToken))
        {
            return null;
        }
    }

    /// <summary>The parameters of a request from this machine.</summary>
    public static FastCgiParameters CreateParameters(
        string agent, string method, string target, string contentType = "", string contentLength = "")
    {
        var parameters = new FastCgiParameters();
        var (remote, local) = (new IPEndPoint(IPAddress.Loopback, 0), new IPEndPoint(IPAddress.Loopback, 80));
        HttpParameters.AddTarget(parameters, method, target, Encoding.UTF8.GetBytes(contentType), contentLength);
        HttpParameters.AddConnection(parameters, "http", "HTTP/1.1", remote, local, Host);
        parameters.Add("HTTP_HOST", Host);
        parameters.Add("HTTP_USER_AGENT", agent);
        return parameters;
    }

    private static bool IsFailure(Exception exception, CancellationToken cancellationToken)
        => exception is IOException or SocketException
            || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested);

    private CancellationTokenSource CreateLimit(CancellationToken cancellationToken)
    {
        var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        return limit;
    }

    private FastCgiClient CreateClient()
        => new(address, new FastCgiClientOptions { KeepConnections = false, ConnectTimeout = timeout });

    private async Task<ProbeResult> RequestAsync(CancellationToken cancellationToken)
    {
        using var limit = CreateLimit(cancellationToken);
        using var client = CreateClient();
        var watch = Stopwatch.StartNew();
        try
        {
            await using var response = await client.SendAsync(CreateRequest(), limit.Token);
            var sizes = response.Headers
                .Select(static header => Encoding.UTF8.GetByteCount($"{header.Key}: {header.Value}\r\n")).ToList();
            var size = sizes.Sum() + "Status: 200 OK\r\n\r\n".Length;
            var isPhp = response.StatusCode == 404
                && response.StandardError.Contains("Primary script unknown", StringComparison.Ordinal);
            return new ProbeResult(null, Spoken.FastCgi, response.StatusCode, size, watch.Elapsed,
                LongestHeader: sizes.DefaultIfEmpty().Max(), IsPhp: isPhp);
        }
        catch (Exception exception) when (IsFailure(exception, cancellationToken))
        {
            // The application speaks FastCGI, even if the request failed.
            var isFastCgi = exception is FastCgiProtocolException { Completion: not null };
            return new ProbeResult(null, isFastCgi ? Spoken.FastCgi : Spoken.Nothing,
                Flaw: exception is OperationCanceledException ? Silence : exception.Message);
        }
    }

    private FastCgiRequestMessage CreateRequest()
    {
        var request = new FastCgiRequestMessage { Parameters = CreateParameters("fastcgi-doctor", "GET", path) };
        foreach (var (name, value) in parameters)
            request.Parameters[name] = value;
        return request;
    }

    private async Task<Spoken> FindProtocolAsync(CancellationToken cancellationToken)
    {
        if (await GetValuesAsync(cancellationToken) is not null)
            return Spoken.FastCgi;
        if (await ExchangeAsync(s_hello, cancellationToken) is ([21 or 22, 3, ..], _))
            return Spoken.Tls;
        var (answer, _) = await ExchangeAsync(
            "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"u8.ToArray(), cancellationToken);
        return answer.AsSpan().StartsWith("HTTP/"u8) ? Spoken.Http : Spoken.Nothing;
    }

    /// <returns>The first bytes of the response, and the error of the connection.</returns>
    private async Task<(byte[] Answer, SocketError? Error)> ExchangeAsync(
        byte[] bytes, CancellationToken cancellationToken)
    {
        using var limit = CreateLimit(cancellationToken);
        using var socket = address.CreateSocket();
        try
        {
            await socket.ConnectAsync(address.EndPoint, limit.Token);
            if (bytes.Length == 0)
                return ([], null);

            await socket.SendAsync(bytes, limit.Token);
            var buffer = new byte[64];
            return (buffer[..await socket.ReceiveAsync(buffer, limit.Token)], null);
        }
        catch (Exception exception) when (IsFailure(exception, cancellationToken))
        {
            return ([], (exception as SocketException)?.SocketErrorCode ?? SocketError.TimedOut);
        }
    }
}
