namespace FastCgi.AspNetCore.ParityTests.Comparison;

/// <summary>
/// The exchange between a client and one site: requests in sequence, on one connection while the site keeps it open.
/// Everything is recorded.
/// </summary>
internal sealed class Conversation(Site site, SslClientAuthenticationOptions? tls) : IDisposable
{
    // Differs from the address from which the web servers reach the application.
    private static readonly IPAddress s_clientAddress = IPAddress.Parse("127.0.0.2");

    private readonly List<Exchange> _exchanges = [];
    private ClientConnection? _connection;

    public IReadOnlyList<Exchange> Exchanges => _exchanges;

    public CookieJar Cookies { get; } = new();

    public Site Site => site;

    public IPAddress ClientAddress { get; set; } = s_clientAddress;

    public Task<ClientResponse> GetAsync(string target) => SendAsync(ClientRequest.Get(target));

    public async Task<ClientResponse> SendAsync(ClientRequest request)
    {
        request = Complete(request, out var name);
        var connection = await ConnectAsync();
        var wasUsed = connection.IsUsed;
        var response = await connection.SendAsync(request).WaitAsync(Waiting.Patience);
        if (response == ClientResponse.None && wasUsed)
        {
            // The web server closed the idle connection at this moment.
            connection = await ConnectAsync();
            response = await connection.SendAsync(request).WaitAsync(Waiting.Patience);
        }

        Cookies.Store(response);

        // The application may still be running after the client has its response.
        var seen = site.Requests.Find(name);
        if (seen is not null)
            await seen.Finished.WaitAsync(Waiting.Patience);
        _exchanges.Add(new Exchange(request, response, seen, connection.LocalEndPoint.Port, EndPoint.Port));
        return response;
    }

    /// <summary>Makes the next request use a new connection.</summary>
    public void Disconnect()
    {
        _connection?.Dispose();
        _connection = null;
    }

    public void Dispose() => Disconnect();

    private IPEndPoint EndPoint => tls is null ? site.Http : site.Https;

    private ClientRequest Complete(ClientRequest request, out string name)
    {
        // Has the same length for each site, because lengths of requests may be compared.
        name = $"request {_exchanges.Count:D3} {Guid.NewGuid()}";
        IEnumerable<(string Name, string Value)> headers = [(SeenRequests.Header, name)];
        if (!request.Headers.Any(header => header.Name == "Host"))
            headers = headers.Prepend(("Host", Site.HostName));
        if (Cookies.Header is { } cookies)
            headers = headers.Append(("Cookie", cookies));
        return request with { Headers = [.. headers, .. request.Headers] };
    }

    private async Task<ClientConnection> ConnectAsync()
    {
        if (_connection is { IsOpen: true } && _connection.LocalEndPoint.Address.Equals(ClientAddress))
            return _connection;
        Disconnect();
        _connection = await ClientConnection.ConnectAsync(ClientAddress, EndPoint, tls);
        return _connection;
    }
}
