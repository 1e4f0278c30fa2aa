using FastCgi.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Records as text: readable, whatever the cuts, and without secrets.</summary>
public sealed class RecordDescriberTests
{
    private readonly List<string> _lines = [];

    private static byte[] Exchange =>
    [
        .. RecordBytes.Begin(7, 1, keepConnection: true),
        .. RecordBytes.Record(RecordBytes.Params, 7, RecordBytes.Pairs(
            ("REQUEST_METHOD", "GET"), ("QUERY_STRING", "key=hunter2"), ("REQUEST_URI", "/path?key=hunter2"), ("HTTP_COOKIE", "hunter2"), ("HTTP_AUTHORIZATION", "Bearer hunter2"),
            ("HTTP_X_API_KEY", "hunter2"), ("SSL_CLIENT_CERT", "hunter2"), ("HTTP_REFERER", "http://host/?hunter2"), ("EMPTY", "")), padding: 3),
        .. RecordBytes.Record(RecordBytes.Params, 7),
        .. RecordBytes.Record(RecordBytes.Stdin, 7, "hunter2"u8),
        .. RecordBytes.Record(RecordBytes.Stdin, 7),
        .. RecordBytes.Record(RecordBytes.Stdout, 7, "Set-Cookie: hunter2\r\n\r\n"u8),
        .. RecordBytes.Record(RecordBytes.Stderr, 7, "first\r\nsecond"u8),
        .. RecordBytes.Record(RecordBytes.EndRequest, 7, [0, 0, 0, 1, 2, 0, 0, 0]),
        .. RecordBytes.Record(99, 0),
    ];

    private static string[] Expected =>
    [
        "BEGIN_REQUEST, request 7, 8 bytes: Responder, keeps the connection",
        $"PARAMS, request 7, {ParamsLength} bytes, 3 of padding",
        "PARAMS, request 7, 0 bytes: the end: REQUEST_METHOD=GET, QUERY_STRING=(11 bytes hidden), REQUEST_URI=/path?(11 bytes hidden), HTTP_COOKIE=(7 bytes hidden), "
            + "HTTP_AUTHORIZATION=(14 bytes hidden), HTTP_X_API_KEY=(7 bytes hidden), SSL_CLIENT_CERT=(7 bytes hidden), HTTP_REFERER=http://host/?(7 bytes hidden), EMPTY=",
        "STDIN, request 7, 7 bytes",
        "STDIN, request 7, 0 bytes: the end",
        "STDOUT, request 7, 23 bytes",
        "STDERR, request 7, 13 bytes: first  second",
        "END_REQUEST, request 7, 8 bytes: protocol status 2, application status 1",
        "type 99, request 0, 0 bytes",
    ];

    private static int ParamsLength => (Exchange[16 + 4] << 8) | Exchange[16 + 5];

    [Fact]
    public void Records_WholeAndCutAnywhere_AreDescribedAlike()
    {
        var bytes = Exchange;
        for (var cut = 0; cut <= bytes.Length; cut++)
        {
            _lines.Clear();
            var describer = new RecordDescriber("id", "received", _lines.Add);
            describer.Take(bytes.AsSpan(0, cut));
            describer.Take(bytes.AsSpan(cut));
            Assert.Equal(Expected.Select(static line => "Connection id \"id\": received " + line), _lines);
        }
    }

    [Fact]
    public void Secrets_AreNowhere()
    {
        new RecordDescriber("id", "sent", _lines.Add).Take(Exchange);

        Assert.DoesNotContain(_lines, static line => line.Contains("hunter2", StringComparison.Ordinal));
    }

    [Fact]
    public void Bytes_ThatAreNoRecord_AreSaidToBeSo()
    {
        new RecordDescriber("id", "received", _lines.Add).Take("GET / HTTP/1.1\r\n"u8);

        Assert.EndsWith("16 bytes that are no FastCGI record", Assert.Single(_lines), StringComparison.Ordinal);
    }

    /// <summary>What a peer sends without end is not kept.</summary>
    [Fact]
    public void Params_WithoutEnd_AreBounded()
    {
        var describer = new RecordDescriber("id", "received", static _ => { });
        var before = GC.GetTotalMemory(forceFullCollection: true);
        for (var id = 1; id <= 200; id++)
        {
            for (var i = 0; i < 20; i++)
                describer.Take(RecordBytes.Record(RecordBytes.Params, id, new byte[60_000]));
        }

        Assert.InRange(GC.GetTotalMemory(forceFullCollection: true) - before, long.MinValue, 100 * 600_000);
        GC.KeepAlive(describer);
    }
}
