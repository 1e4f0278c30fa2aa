namespace FastCgi.Client.Tests.Harness;

/// <summary>An application made by hand: it listens, and the test writes its bytes.</summary>
internal sealed class ScriptedApplication : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly Socket _listener = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
    private readonly List<ScriptedConnection> _connections = [];

    public ScriptedApplication()
    {
        var path = _folder.GetPath("app.sock");
        Address = "unix:" + path;
        _listener.Bind(new UnixDomainSocketEndPoint(path));
        _listener.Listen();
    }

    public string Address { get; }

    public async Task<ScriptedConnection> AcceptAsync(CancellationToken cancellationToken = default)
    {
        var connection = new ScriptedConnection(
            await _listener.AcceptAsync(cancellationToken).AsTask().Within("a connection"));
        _connections.Add(connection);
        return connection;
    }

    /// <summary>Accepts a connection, and reads its first request.</summary>
    public async Task<ScriptedConnection> AcceptRequestAsync()
    {
        var connection = await AcceptAsync();
        await connection.ReadRequestAsync();
        return connection;
    }

    /// <summary>Accepts a connection, and answers its first request.</summary>
    public async Task<ScriptedConnection> AnswerAsync(string text)
    {
        var connection = await AcceptAsync();
        await connection.AnswerAsync(text);
        return connection;
    }

    /// <summary>Sends a request, and reads it.</summary>
    public async Task<(ScriptedConnection Connection, Task<FastCgiResponseMessage> Answer)> BeginAsync(
        FastCgiClient client, string method = "GET")
    {
        var answer = client.SendAsync(Requests.Create(method));
        return (await AcceptRequestAsync(), answer);
    }

    /// <summary>Whether no connection is waiting to be accepted.</summary>
    public bool HasNoOther() => !_listener.Poll(TimeSpan.Zero, SelectMode.SelectRead);

    public void Dispose()
    {
        foreach (var connection in _connections)
            connection.Dispose();
        _listener.Dispose();
        _folder.Dispose();
    }
}
