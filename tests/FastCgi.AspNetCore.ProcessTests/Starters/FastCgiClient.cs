using System.Buffers.Binary;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace FastCgi.AspNetCore.ProcessTests.Starters;

/// <summary>A web server's side of FastCGI, one request a connection.</summary>
internal static class FastCgiClient
{
    /// <summary>Gets a resource.</summary>
    /// <returns>The body of the response.</returns>
    public static async Task<string> GetAsync(EndPoint endPoint, string uri)
    {
        using var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(endPoint);
        await using var stream = new NetworkStream(socket);
        await stream.WriteAsync(RecordBytes.Get(uri: uri, keepConnection: false));

        using var received = new MemoryStream();
        await stream.CopyToAsync(received).WaitAsync(Waiting.Patience);
        var response = GetStdout(received.ToArray());
        var end = response.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        Assert.True(end > 0 && response[..end].Contains("Status: 200", StringComparison.Ordinal), response);
        return response[(end + 4)..];
    }

    private static string GetStdout(ReadOnlySpan<byte> records)
    {
        var stdout = new StringBuilder();
        while (!records.IsEmpty)
        {
            var length = BinaryPrimitives.ReadUInt16BigEndian(records[4..]);
            if (records[1] == RecordBytes.Stdout)
                stdout.Append(Encoding.UTF8.GetString(records.Slice(8, length)));
            records = records[(8 + length + records[6])..];
        }

        return stdout.ToString();
    }
}
