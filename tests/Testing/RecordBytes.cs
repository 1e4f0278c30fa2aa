using System.Buffers.Binary;
using System.Text;

namespace FastCgi.AspNetCore.Testing;

/// <summary>
/// Records and name-value pairs as bytes, written from the FastCGI specification without the server's code, so that
/// each checks the other.
/// </summary>
public static class RecordBytes
{
    public const byte BeginRequest =
        1, AbortRequest = 2, EndRequest = 3, Params = 4, Stdin = 5, Stdout = 6, Stderr = 7, Data = 8,
        GetValues = 9, GetValuesResult = 10, UnknownType = 11;

    /// <summary>No type, but what reads as one where the server sends bytes that are no record.</summary>
    public const byte CutMark = 255;

    /// <summary>The bytes that are no record, with which a failed response ends.</summary>
    public static byte[] Cut { get; } = [9, 9, 9, 9, 9, 9, 9, 9];

    public static byte[] Record(
        byte type,
        int id,
        ReadOnlySpan<byte> content = default,
        int padding = 0,
        byte version = 1,
        byte reserved = 0,

            byte paddingByte = 0xEE)
    {
        var record = new byte[8 + content.Length + padding];
        record[0] = version;
        record[1] = type;
        BinaryPrimitives.WriteUInt16BigEndian(record.AsSpan(2), (ushort)id);
        BinaryPrimitives.WriteUInt16BigEndian(record.AsSpan(4), checked((ushort)content.Length));
        record[6] = checked((byte)padding);
        record[7] = reserved;
        content.CopyTo(record.AsSpan(8));
        record.AsSpan(8 + content.Length).Fill(paddingByte);
        return record;
    }

    public static byte[] Begin(int id = 1, int role = 1, bool keepConnection = true)
        => Record(BeginRequest, id, [(byte)(role >> 8), (byte)role, (byte)(keepConnection ? 1 : 0), 0, 0, 0, 0, 0]);

    public static byte[] Abort(int id = 1) => Record(AbortRequest, id);

    public static byte[] ParamsStream(int id, params (string Name, string Value)[] pairs)
        => [.. Record(Params, id, Pairs(pairs)), .. Record(Params, id)];

    /// <summary>A whole STDIN stream in records of at most 65,535 bytes, with its end.</summary>
    public static byte[] StdinStream(int id, ReadOnlySpan<byte> content)
    {
        var stream = new List<byte>();
        for (; !content.IsEmpty; content = content[Math.Min(content.Length, 65_535)..])
            stream.AddRange(Record(Stdin, id, content[..Math.Min(content.Length, 65_535)]));
        stream.AddRange(Record(Stdin, id));
        return [.. stream];
    }

    public static byte[] Pairs(params (string Name, string Value)[] pairs)
        => [.. pairs.SelectMany(
            static pair => Pair(Encoding.UTF8.GetBytes(pair.Name), Encoding.UTF8.GetBytes(pair.Value)))];

    /// <summary>A pair of texts in which each character is one byte.</summary>
    public static byte[] Pair(string name, string value)
        => Pair(Encoding.Latin1.GetBytes(name), Encoding.Latin1.GetBytes(value));

    public static byte[] Pair(byte[] name, byte[] value)
        => [.. Length(name.Length), .. Length(value.Length), .. name, .. value];

    /// <summary>A length: one byte up to 127, otherwise four with the high bit set.</summary>
    public static byte[] Length(int length, bool isLong = false)
        => length <= 127 && !isLong
            ? [(byte)length]
            : [(byte)(length >> 24 | 0x80), (byte)(length >> 16), (byte)(length >> 8), (byte)length];

    /// <summary>Bytes that depend on their position, so that a lost or moved piece is detected.</summary>
    public static byte[] Content(int length)
        => [.. Enumerable.Range(0, length).Select(static i => (byte)((i * 31) ^ (i >> 8)))];

    /// <summary>The params of a plain request, as nginx orders them.</summary>
    public static (string Name, string Value)[] RequestParams(
        string method = "GET", string uri = "/", params (string Name, string Value)[] more)
    {
        var query = uri.IndexOf('?');
        return
        [
            ("QUERY_STRING", query < 0 ? "" : uri[(query + 1)..]), ("REQUEST_METHOD", method), ("CONTENT_TYPE", ""),
            ("REQUEST_URI", uri),
            ("DOCUMENT_ROOT", "/srv/www/html"), ("SERVER_PROTOCOL", "HTTP/1.1"), ("REQUEST_SCHEME", "http"),
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("SERVER_SOFTWARE", "nginx/1.22.1"), ("REMOTE_ADDR", "192.0.2.7"), ("REMOTE_PORT", "51234"),
            ("SERVER_ADDR", "198.51.100.1"),
            ("SERVER_PORT", "80"), ("SERVER_NAME", "www.example.test"), ("HTTP_HOST", "www.example.test"),
            ("HTTP_USER_AGENT", "test/1.0"),
            .. more,
        ];
    }

    /// <summary>A whole request without a body.</summary>
    public static byte[] Get(
        int id = 1,
        string uri = "/",
        bool keepConnection = true,
        string method = "GET",
        params (string Name, string Value)[] more)
        =>
        [
            .. Begin(id, 1, keepConnection), .. ParamsStream(id, RequestParams(method, uri, more)),
            .. Record(Stdin, id),
        ];

    /// <summary>All of a POST but its body.</summary>
    public static byte[] PostHead(object contentLength, int id = 1, string uri = "/", bool keepConnection = true) =>
    [
        .. Begin(id, 1, keepConnection),
        .. ParamsStream(id, RequestParams("POST", uri, ("CONTENT_LENGTH", string.Create(
            System.Globalization.CultureInfo.InvariantCulture, $"{contentLength}")))),
    ];

    /// <summary>A whole request with a body.</summary>
    public static byte[] Post(
        int id, string uri, byte[] body, bool keepConnection = true, params (string Name, string Value)[] more) =>
    [
        .. Begin(id, 1, keepConnection),
        .. ParamsStream(id, RequestParams("POST", uri, [
            ("CONTENT_LENGTH", body.Length.ToString(System.Globalization.CultureInfo.InvariantCulture)), .. more])),
        .. StdinStream(id, body),
    ];
}
