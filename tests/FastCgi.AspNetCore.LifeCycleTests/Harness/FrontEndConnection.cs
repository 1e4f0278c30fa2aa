using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;
using FastCgi.AspNetCore.Testing;

namespace FastCgi.AspNetCore.LifeCycleTests.Harness;

/// <summary>A connection of a web server to the application, one request at a time.</summary>
internal sealed class FrontEndConnection : IDisposable
{
    private readonly Socket _socket;
    private readonly NetworkStream _stream;

    private FrontEndConnection(Socket socket)
    {
        _socket = socket;
        _stream = new NetworkStream(socket);
    }

    public static async Task<FrontEndConnection> ConnectAsync(EndPoint application)
    {
        var socket = new Socket(application.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(application);
        return new FrontEndConnection(socket);
    }

    /// <summary>Whether the application accepts connections.</summary>
    public static async Task<bool> IsRefusedAsync(EndPoint application)
    {
        try
        {
            using var connection = await ConnectAsync(application);
            return false;
        }
        catch (SocketException)
        {
            return true;
        }
    }

    public async Task SendAsync(string uri, bool keepConnection = true, string method = "GET")
        => await _stream.WriteAsync(RecordBytes.Get(1, uri, keepConnection, method));

    /// <summary>Waits for the next record.</summary>
    /// <returns>Its type and content, or <see langword="null"/> if the connection has ended.</returns>
    public async Task<(byte Type, string Content)?> ReadRecordAsync()
    {
        using var patience = new CancellationTokenSource(Waiting.Patience);
        var header = new byte[8];
        try
        {
            if (await _stream.ReadAtLeastAsync(header, header.Length, throwOnEndOfStream: false, patience.Token) < header.Length)
                return null;
        }
        catch (IOException)
        {
            return null;
        }

        var content = new byte[BinaryPrimitives.ReadUInt16BigEndian(header.AsSpan(4)) + header[6]];
        await _stream.ReadExactlyAsync(content, patience.Token);
        return (header[1], Encoding.UTF8.GetString(content));
    }

    /// <summary>Reads an answer to its END_REQUEST.</summary>
    /// <returns>It, or <see langword="null"/> if the connection has ended before.</returns>
    public async Task<string?> ReadAnswerAsync()
    {
        var answer = new StringBuilder();
        while (await ReadRecordAsync() is { } record)
        {
            if (record.Type == RecordBytes.EndRequest)
                return answer.ToString();
            answer.Append(record.Content);
        }

        return null;
    }

    /// <summary>Reads what comes until the connection ends.</summary>
    public async Task ReadToEndAsync()
    {
        while (await ReadRecordAsync() is not null)
        {
        }
    }

    public void Dispose()
    {
        _stream.Dispose();
        _socket.Dispose();
    }
}
