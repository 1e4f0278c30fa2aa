namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>A client that sends exactly the given text, which <see cref="HttpClient"/> would normalize.</summary>
internal sealed class RawHttpClient : IDisposable
{
    private readonly Socket _socket;

    private RawHttpClient(Socket socket)
    {
        _socket = socket;
    }

    public static async Task<RawHttpClient> ConnectAsync(EndPoint endPoint)
    {
        var protocol = endPoint is IPEndPoint ? ProtocolType.Tcp : ProtocolType.Unspecified;
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, protocol);
        await socket.ConnectAsync(endPoint);
        return new RawHttpClient(socket);
    }

    public async Task SendAsync(string text)
    {
        var bytes = Encoding.Latin1.GetBytes(text);
        var sent = 0;
        while (sent < bytes.Length)
            sent += await _socket.SendAsync(bytes.AsMemory(sent));
    }

    /// <summary>Everything until the server closes the connection.</summary>
    public async Task<string> ReadToEndAsync()
    {
        using var reader = new StreamReader(new NetworkStream(_socket), Encoding.UTF8);
        return await reader.ReadToEndAsync().WaitAsync(FrontEndTest.Patience);
    }

    /// <summary>Closes the connection, optionally with a reset.</summary>
    public void Close(bool isReset)
    {
        if (isReset)
            _socket.LingerState = new LingerOption(enable: true, seconds: 0);
        _socket.Dispose();
    }

    public void Dispose() => _socket.Dispose();
}
