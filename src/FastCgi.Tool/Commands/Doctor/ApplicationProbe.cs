namespace FastCgi.Tool.Commands.Doctor;

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
    FastCgiAddress address, string path, (string Name, string Value)[] parameters, TimeSpan timeout,
    CancellationToken cancellationToken)
{
    public const string Silence = "nothing came";

    // A ClientHello of TLS 1.2. TLS servers respond with a handshake (22) or an alert (21).
    private static readonly byte[] s_hello =
        [22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3, .. new byte[32], 0, 0, 2, 0xC0, 0x2F, 1, 0];

    public async Task<ProbeResult> RunAsync()
    {
        if (await ExchangeAsync([]) is (_, { } error))
            return new ProbeResult(error, Spoken.Nothing);

        var result = await TryAsync(RequestAsync, ExplainFailure);
        return result.Flaw is null || result.Spoken == Spoken.FastCgi
            ? result
            : result with { Spoken = await FindProtocolAsync() };
    }

    /// <summary>The response of the application to GET_VALUES, or <see langword="null"/>.</summary>
    public Task<string?> GetValuesAsync() => TryAsync(
        async token =>
        {
            using var client = CreateClient();
            var values = await client.GetValuesAsync(["FCGI_MAX_CONNS", "FCGI_MAX_REQS", "FCGI_MPXS_CONNS"], token);
            return string.Join(", ", values.Select(static pair => $"{pair.Key}={pair.Value}"));
        },
        static _ => (string?)null);

    /// <summary>Runs a step within the timeout, and explains its failure.</summary>
    private async Task<T> TryAsync<T>(Func<CancellationToken, Task<T>> run, Func<Exception, T> explain)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(timeout);
        try
        {
            return await run(limit.Token);
        }
        catch (Exception exception) when (exception is IOException or SocketException
            || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            return explain(exception);
        }
    }

    private FastCgiClient CreateClient() => new(address, new FastCgiClientOptions { ConnectTimeout = timeout });

    private async Task<ProbeResult> RequestAsync(CancellationToken token)
    {
        var own = RequestTarget.OfThisMachine(path).CreateParameters("GET", "fastcgi-doctor");
        foreach (var (name, value) in parameters)
            own[name] = value;
        using var client = CreateClient();
        var watch = Stopwatch.StartNew();
        await using var response = await client.SendAsync(new FastCgiRequestMessage { Parameters = own }, token);
        var sizes = response.Headers
            .Select(static header => Encoding.UTF8.GetByteCount($"{header.Key}: {header.Value}\r\n")).ToList();
        var size = sizes.Sum() + "Status: 200 OK\r\n\r\n".Length;
        var isPhp = response.StatusCode == 404 && response.StandardError.Contains("Primary script unknown");
        return new ProbeResult(null, Spoken.FastCgi, response.StatusCode, size, watch.Elapsed,
            LongestHeader: sizes.DefaultIfEmpty().Max(), IsPhp: isPhp);
    }

    // The application speaks FastCGI if it has ended a failed request.
    private static ProbeResult ExplainFailure(Exception exception)
        => new(null, exception is FastCgiProtocolException { Completion: not null } ? Spoken.FastCgi : Spoken.Nothing,
            Flaw: exception is OperationCanceledException ? Silence : exception.Message);

    private async Task<Spoken> FindProtocolAsync()
    {
        if (await GetValuesAsync() is not null)
            return Spoken.FastCgi;
        if (await ExchangeAsync(s_hello) is ([21 or 22, 3, ..], _))
            return Spoken.Tls;
        var (response, _) = await ExchangeAsync("GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"u8.ToArray());
        return response.AsSpan().StartsWith("HTTP/"u8) ? Spoken.Http : Spoken.Nothing;
    }

    /// <returns>The first bytes of the response, and the error of the connection.</returns>
    private Task<(byte[] Response, SocketError? Error)> ExchangeAsync(byte[] bytes)
        => TryAsync<(byte[], SocketError?)>(
            async token =>
            {
                using var socket = address.CreateSocket();
                await socket.ConnectAsync(address.EndPoint, token);
                if (bytes.Length == 0)
                    return ([], null);

                await socket.SendAsync(bytes, token);
                var buffer = new byte[64];
                return (buffer[..await socket.ReceiveAsync(buffer, token)], null);
            },
            static exception => ([], (exception as SocketException)?.SocketErrorCode ?? SocketError.TimedOut));
}
