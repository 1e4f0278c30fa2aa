using System.Buffers.Binary;
using System.Net.Security;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>An HTTP/2 client that can send any <c>:scheme</c>, which <see cref="HttpClient"/> cannot.</summary>
internal static class RawHttp2Client
{
    private const int FrameHeaderLength = 9;
    private const byte Data = 0;
    private const byte Headers = 1;
    private const byte ResetStream = 3;
    private const byte Settings = 4;
    private const byte GoAway = 7;
    private const byte EndStream = 1;
    private const byte EndStreamAndHeaders = 5;

    /// <returns>
    /// The response body; <see langword="null"/> if the web server refuses the protocol or the request.
    /// </returns>
    public static async Task<string?> GetAsync(Site site, string scheme, string authority, string path)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(site.FrontEnd.EndPoint);
        await using Stream stream = site.Url.StartsWith("https", StringComparison.Ordinal)
            ? await SecureAsync(new NetworkStream(socket))
            : new NetworkStream(socket);

        byte[] fields =
        [
            .. Encode(":method", "GET"),
            .. Encode(":scheme", scheme),
            .. Encode(":authority", authority),
            .. Encode(":path", path),
        ];
        byte[] request =
        [
            .. "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"u8,
            .. Frame(Settings, flags: 0, stream: 0, []),
            .. Frame(Headers, EndStreamAndHeaders, stream: 1, fields),
        ];
        await stream.WriteAsync(request);
        try
        {
            return await ReadBodyAsync(stream).WaitAsync(FrontEndTest.Patience);
        }
        catch (IOException)
        {
            return null;
        }
    }

    private static async Task<Stream> SecureAsync(Stream inner)
    {
        var stream = new SslStream(inner);
        await stream.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
        {
            TargetHost = FrontEndDocument.HostName,
            ApplicationProtocols = [SslApplicationProtocol.Http2],
            RemoteCertificateValidationCallback = static (_, shown, _, _) => TestCertificates.IsServer(shown),
        });
        return stream;
    }

    private static async Task<string?> ReadBodyAsync(Stream stream)
    {
        var body = new List<byte>();
        var header = new byte[FrameHeaderLength];
        while (true)
        {
            await stream.ReadExactlyAsync(header);
            var payload = new byte[BinaryPrimitives.ReadInt32BigEndian(header) >> 8];
            await stream.ReadExactlyAsync(payload);
            if (header[3] is ResetStream or GoAway)
                return null;
            if (header[3] == Data)
                body.AddRange(payload);
            if (header[3] is Data or Headers && (header[4] & EndStream) != 0)
                return Encoding.UTF8.GetString([.. body]);
        }
    }

    private static byte[] Frame(byte type, byte flags, byte stream, byte[] payload)
        => [0, 0, (byte)payload.Length, type, flags, 0, 0, 0, stream, .. payload];

    /// <summary>A literal field without indexing (RFC 7541, section 6.2.2), shorter than 127 bytes.</summary>
    private static byte[] Encode(string name, string value) => [0, .. EncodeString(name), .. EncodeString(value)];

    private static byte[] EncodeString(string text) => [(byte)text.Length, .. Encoding.ASCII.GetBytes(text)];
}
