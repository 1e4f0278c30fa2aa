using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace SideBySide.Driver;

/// <summary>Many HTTP clients that send one request and then only receive.</summary>
internal sealed class HttpClients : IDisposable
{
    private readonly List<Socket> _sockets = [];

    /// <summary>Connects the clients, and has each of them send a GET as a browser behind a proxy does.</summary>
    public static HttpClients Open(EndPoint server, string path, int count)
    {
        var request = Encoding.ASCII.GetBytes(
            $"GET {path} HTTP/1.1\r\nHost: www.example.com\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n" +
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
            "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n" +
            "Accept-Encoding: gzip, deflate, br\r\nCookie: session=0123456789abcdef0123456789abcdef\r\n\r\n");
        var clients = new HttpClients();
        for (var i = 0; i < count; i++)
        {
            var socket = new Socket(server.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
            socket.Connect(server);
            socket.Send(request);
            clients._sockets.Add(socket);
        }

        return clients;
    }

    /// <summary>Counts how often all clients receive a word in a given time.</summary>
    public long CountReceived(string word, TimeSpan time)
    {
        var pattern = Encoding.ASCII.GetBytes(word);
        var buffer = new byte[64 * 1024];
        Drain(buffer, pattern);
        var clock = Stopwatch.StartNew();
        var count = 0L;
        while (clock.Elapsed < time)
        {
            Thread.Sleep(50);
            count += Drain(buffer, pattern);
        }

        return count;
    }

    public void Dispose()
    {
        foreach (var socket in _sockets)
            socket.Dispose();
        _sockets.Clear();
    }

    private long Drain(byte[] buffer, byte[] pattern)
    {
        var count = 0L;
        foreach (var socket in _sockets)
        {
            while (socket.Available > 0)
                count += Count(buffer.AsSpan(0, socket.Receive(buffer)), pattern);
        }

        return count;
    }

    private static int Count(ReadOnlySpan<byte> text, byte[] pattern)
    {
        var count = 0;
        for (int at; (at = text.IndexOf(pattern)) >= 0; text = text[(at + pattern.Length)..])
            count++;
        return count;
    }
}
