using System.Net.Sockets;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>How the server ends a connection that the web server does not keep.</summary>
public sealed class ConnectionCloseTests
{
    [Fact]
    public async Task EndRequest_WithoutKeepConn_ConnectionIsClosedAndNotReset()
    {
        await using var application = await TestApplication.StartAsync(
            "fastcgi://127.0.0.1:0", app => app.MapGet("/", () => "Hello"));
        using var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(application.EndPoint);

        await socket.SendAsync((byte[])
        [
            .. Record(type: 1, [0, 1, 0, 0, 0, 0, 0, 0]),
            .. Record(type: 4, [.. Pair("REQUEST_METHOD"u8, "GET"u8), .. Pair("REQUEST_URI"u8, "/"u8), .. Pair("SERVER_PROTOCOL"u8, "HTTP/1.1"u8)]),
            .. Record(type: 4, []),
            .. Record(type: 5, []),
        ]);

        // A reset would be an exception of the read.
        using var reader = new StreamReader(new NetworkStream(socket));
        var answer = await reader.ReadToEndAsync().WaitAsync(FrontEndTest.Patience);
        Assert.Contains("Hello", answer, StringComparison.Ordinal);
        application.Log.Verify();
    }

    private static byte[] Record(byte type, byte[] content) => [1, type, 0, 1, 0, (byte)content.Length, 0, 0, .. content];

    private static byte[] Pair(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) => [(byte)name.Length, (byte)value.Length, .. name, .. value];
}
