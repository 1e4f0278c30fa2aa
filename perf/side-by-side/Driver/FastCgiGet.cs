using System.Net;
using System.Net.Sockets;
using System.Text;

namespace SideBySide.Driver;

/// <summary>Gets a small page over FastCGI.</summary>
internal static class FastCgiGet
{
    public static string Read(EndPoint server, string path)
    {
        var pairs = new List<byte>();
        foreach (var (name, value) in new[] { ("REQUEST_METHOD", "GET"), ("REQUEST_URI", path), ("SERVER_PROTOCOL", "HTTP/1.1"), ("HTTP_HOST", "localhost") })
            pairs.AddRange([(byte)name.Length, (byte)value.Length, .. Encoding.ASCII.GetBytes(name + value)]);

        using var socket = new Socket(server.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(server);
        socket.Send((byte[])[.. Record(1, [0, 1, 0, 0, 0, 0, 0, 0]), .. Record(4, [.. pairs]), .. Record(4, []), .. Record(5, [])]);
        using var answer = new MemoryStream();
        using (var stream = new NetworkStream(socket))
            stream.CopyTo(answer);

        // The first record contains the header block and the body.
        var bytes = answer.ToArray();
        var content = Encoding.ASCII.GetString(bytes, 8, bytes[4] << 8 | bytes[5]);
        return content[(content.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];
    }

    private static byte[] Record(byte type, byte[] content)
        => [1, type, 0, 1, 0, (byte)content.Length, 0, 0, .. content];
}
