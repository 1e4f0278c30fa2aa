namespace FastCgi.AspNetCore.UnitTests;

/// <summary>Records as text: readable at any cut, and without secrets.</summary>
public sealed class RecordDescriberTests
{
    private readonly List<string> _lines = [];

    private static byte[] Exchange =>
    [
        .. RecordBytes.Begin(7, 1, keepConnection: true),
        .. RecordBytes.Record(RecordBytes.Params, 7, RecordBytes.Pairs(
            ("REQUEST_METHOD", "GET"), ("QUERY_STRING", "key=hunter2"), ("REQUEST_URI", "/path?key=hunter2"),
            ("HTTP_COOKIE", "hunter2"), ("HTTP_AUTHORIZATION", "Bearer hunter2"),
            ("HTTP_X_API_KEY", "hunter2"), ("SSL_CLIENT_CERT", "hunter2"), ("HTTP_REFERER", "http://host/?hunter2"),
            ("EMPTY", "")), padding: 3),
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
        $"PARAMS, request 7, {ParamsLength} bytes, 3 bytes of padding",
        "PARAMS, request 7, 0 bytes: the end: REQUEST_METHOD=GET, QUERY_STRING=(11 bytes hidden), "
            + "REQUEST_URI=/path?(11 bytes hidden), HTTP_COOKIE=(7 bytes hidden), "
            + "HTTP_AUTHORIZATION=(14 bytes hidden), HTTP_X_API_KEY=(7 bytes hidden), SSL_CLIENT_CERT=(7 bytes "
                + "hidden), HTTP_REFERER=http://host/?(7 bytes hidden), EMPTY=",
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
    public void Bytes_NotARecord_AreDescribedAsSuch()
    {
        new RecordDescriber("id", "received", _lines.Add).Take("GET / HTTP/1.1\r\n"u8);

        Assert.EndsWith("16 bytes that are not a FastCGI record", Assert.Single(_lines), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(
        "BEGIN_REQUEST, request 1, 8 bytes: 513, closes the connection", 1, new byte[] { 2, 1, 0xFE, 0, 0, 0, 0, 0 })]
    [InlineData("BEGIN_REQUEST, request 1, 3 bytes: Authorizer, keeps the connection", 1, new byte[] { 0, 2, 0xFF })]
    [InlineData("BEGIN_REQUEST, request 1, 2 bytes", 1, new byte[] { 0, 3 })]
    [InlineData("ABORT_REQUEST, request 1, 0 bytes", 2, new byte[0])]
    [InlineData(
        "END_REQUEST, request 1, 5 bytes: protocol status 9, application status 16909060",
        3,
        new byte[] { 1, 2, 3, 4, 9 })]
    [InlineData("END_REQUEST, request 1, 4 bytes", 3, new byte[] { 1, 2, 3, 4 })]
    [InlineData("STDIN, request 1, 0 bytes: the end", 5, new byte[0])]
    [InlineData("STDOUT, request 1, 0 bytes: the end", 6, new byte[0])]
    [InlineData("STDERR, request 1, 0 bytes", 7, new byte[0])]
    [InlineData("DATA, request 1, 0 bytes: the end", 8, new byte[0])]
    [InlineData("DATA, request 1, 1 bytes", 8, new byte[] { 1 })]
    [InlineData("GET_VALUES, request 1, 5 bytes: abc=", 9, new byte[] { 3, 0, 97, 98, 99 })]
    [InlineData("GET_VALUES_RESULT, request 1, 6 bytes: abc=d", 10, new byte[] { 3, 1, 97, 98, 99, 100 })]
    [InlineData("GET_VALUES, request 1, 4 bytes: , and an incomplete pair", 9, new byte[] { 3, 1, 97, 98 })]
    [InlineData("UNKNOWN_TYPE, request 1, 8 bytes", 11, new byte[] { 99, 0, 0, 0, 0, 0, 0, 0 })]
    public void Record_OfEachType_IsDescribed(string expected, byte type, byte[] content)
    {
        new RecordDescriber("id", "sent", _lines.Add).Take(RecordBytes.Record(type, 1, content));

        Assert.Equal("Connection id \"id\": sent " + expected, Assert.Single(_lines));
    }

    [Fact]
    public void Params_OfAnotherRequest_AreNotMixedUp()
    {
        var describer = new RecordDescriber("id", "received", _lines.Add);
        var some = RecordBytes.Record(RecordBytes.Params, 1, RecordBytes.Pairs(("A", "1")));
        var end = RecordBytes.Record(RecordBytes.Params, 1);

        describer.Take(
            [.. RecordBytes.Begin(), .. end, .. RecordBytes.Begin(), .. some, .. RecordBytes.Begin(), .. end]);
        describer.Take([.. RecordBytes.Begin(), .. some, .. RecordBytes.Abort(), .. end, .. some, .. end]);

        Assert.Equal(
            ["none", "none", "not described", "not described"],
            _lines.Where(static line => line.Contains(": the end: ", StringComparison.Ordinal)).Select(
                static line => line.Split(": the end: ")[1]));
    }

    [Theory]
    [InlineData(200, "")]
    [InlineData(201, "…")]
    public void Value_Long_IsCut(int length, string more)
    {
        new RecordDescriber("id", "sent", _lines.Add).Take(RecordBytes.Record(
            RecordBytes.GetValues, 0, RecordBytes.Pairs(("A", new string('x', length)), ("B", "?q"))));

        Assert.EndsWith(
            $": A={new string('x', 200)}{more}, B=?(1 bytes hidden)", Assert.Single(_lines), StringComparison.Ordinal);
    }

    [Fact]
    public void Pairs_VeryMany_AreCountedAsMore()
    {
        var pairs = Enumerable.Range(0, 5_000).Select(static i => ("N" + i, "valueOfIt")).ToArray();
        new RecordDescriber("id", "sent", _lines.Add).Take(
            RecordBytes.Record(RecordBytes.GetValues, 0, RecordBytes.Pairs(pairs[..3_500])));

        Assert.EndsWith("=valueOfIt, possibly more", Assert.Single(_lines), StringComparison.Ordinal);
        Assert.InRange(_lines[0].Length, 32 * 1024, 33 * 1024);
    }

    /// <summary>Endless input from a peer is not kept.</summary>
    [Fact]
    public void Params_WithoutEnd_AreBounded()
    {
        var describer = new RecordDescriber("id", "received", static _ => { });
        var allocated = 0L;
        for (var id = 1; id <= 200; id++)
        {
            var (begin, piece) = (RecordBytes.Begin(id), RecordBytes.Record(RecordBytes.Params, id, new byte[60_000]));
            // Of this thread only, and not of the test's own records.
            var before = GC.GetAllocatedBytesForCurrentThread();
            describer.Take(begin);
            for (var i = 0; i < 20; i++)
                describer.Take(piece);
            allocated += GC.GetAllocatedBytesForCurrentThread() - before;
        }

        Assert.InRange(allocated, 100 * 60_000, 100 * 300_000);
    }

    /// <summary>In the middle of a stream, a cookie's value cannot be distinguished from a name.</summary>
    [Fact]
    public void Params_BeginningNotKept_AreNotDescribed()
    {
        var describer = new RecordDescriber("id", "received", _lines.Add);
        for (var id = 1; id <= 101; id++)
            describer.Take(RecordBytes.Begin(id));
        var secret = RecordBytes.Pairs(("HTTP_COOKIE", "\u0006\u0001hunter2"));
        describer.Take(RecordBytes.Record(RecordBytes.Params, 101, secret.AsSpan(0, 2 + "HTTP_COOKIE".Length)));
        describer.Take(RecordBytes.Record(RecordBytes.Params, 1));
        describer.Take(RecordBytes.Record(RecordBytes.Params, 101, secret.AsSpan(2 + "HTTP_COOKIE".Length)));
        describer.Take(RecordBytes.Record(RecordBytes.Params, 101));

        Assert.DoesNotContain(_lines, static line => line.Contains("hunte", StringComparison.Ordinal));
        Assert.EndsWith("the end: not described", _lines[^1], StringComparison.Ordinal);
    }
}
