namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class CgiResponseWriterTests
{
    private readonly List<KeyValuePair<string, StringValues>> _headers = [];
    private Dictionary<string, Encoding>? _encodings;

    [Theory]
    [InlineData(200, null, "200 OK")]
    [InlineData(204, null, "204 No Content")]
    [InlineData(304, null, "304 Not Modified")]
    [InlineData(500, null, "500 Internal Server Error")]
    [InlineData(299, null, "299 Successful")]
    [InlineData(599, null, "599 Server Error")]
    [InlineData(399, null, "399 Redirection")]
    [InlineData(498, null, "498 Client Error")]
    [InlineData(600, null, "600 Unknown")]
    [InlineData(999, null, "999 Unknown")]
    [InlineData(200, "Fine", "200 Fine")]
    [InlineData(404, "", "404 Not Found")]
    [InlineData(404, "Größe fehlt", "404 Größe fehlt")]
    public void Write_NoHeaders_StatusAndTheBlankLine(int statusCode, string? reasonPhrase, string status)
        => Assert.Equal($"Status: {status}\r\n\r\n", Encoding.UTF8.GetString(WriteBytes(statusCode, reasonPhrase)));

    [Fact]
    public void Write_Headers_InOrderAndStatusLast()
    {
        Add("Location", "/elsewhere");
        Add("Content-Type", "text/plain; charset=utf-8");
        Add("X-Empty", "");
        Add("X", "a\tb");

        Assert.Equal("Location: /elsewhere\r\nContent-Type: text/plain; charset=utf-8\r\nX-Empty: \r\nX: a\tb\r\n"
            + "Status: 303 See Other\r\n\r\n", Write(303));
    }

    [Fact]
    public void Write_SeveralValues_AFieldForEach()
    {
        Add("Set-Cookie", new StringValues(["a=1", null, "b=2"]));
        Add("X-None", StringValues.Empty);
        Add("X-Null", new StringValues([null]));

        Assert.Equal("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nStatus: 200 OK\r\n\r\n", Write());
    }

    [Theory]
    [InlineData(
        "Connection", "connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "TRAILER", "Upgrade",
        "Status", "STATUS")]
    public void Write_FieldOfTheServerOrTheFrontEnd_IsLeftOut(params string[] names)
    {
        foreach (var name in names)
            Add(name, "200");
        Add("X-After", "1");

        Assert.Equal("X-After: 1\r\nStatus: 200 OK\r\n\r\n", Write());
        Assert.All(names, static name => Assert.True(CgiResponseWriter.IsReserved(name)));
    }

    [Theory]
    [InlineData("Content-Length", "Location", "Server", "Date", "X-Accel-Buffering", "X-Status", "Statue", "TE")]
    public void IsReserved_FieldOfTheApplication_IsNot(params string[] names)
        => Assert.All(names, static name => Assert.False(CgiResponseWriter.IsReserved(name)));

    [Theory]
    [InlineData(0L, "Content-Length: 0\r\n")]
    [InlineData(12L, "Content-Length: 12\r\n")]
    [InlineData(long.MaxValue, "Content-Length: 9223372036854775807\r\n")]
    public void Write_LengthTheServerFound_IsAField(long contentLength, string field)
    {
        Add("A", "b");

        Assert.Equal($"A: b\r\n{field}Status: 200 OK\r\n\r\n", Write(contentLength: contentLength));
    }

    [Fact]
    public void Write_ControlCharacter_IsRefusedInValueAndNameAndReason()
    {
        foreach (var text in (string[])["a\rb", "a\nb", "a\r\nX-Injected: 1", "a\0", "\x01", "\x7f"])
        {
            // The last text's header would be refused too.
            _headers.Clear();
            Assert.Throws<InvalidOperationException>(() => Write(reasonPhrase: text));
            foreach (var encodings in (Dictionary<string, Encoding>?[])[null, new() { ["X"] = Encoding.Latin1 }])
            {
                _encodings = encodings;
                AssertRefused("X", text);
                AssertRefused("X" + text, "v");
            }
        }
    }

    [Fact]
    public void Write_NameIsNoToken_IsRefused()
        => Assert.All(["X Y", "X:", "Größe", "(X)"], name => AssertRefused(name, "v"));

    [Fact]
    public void Write_EncodingChosenByName_IsUsedForThatHeader()
    {
        _encodings = new() { ["X-Utf8"] = Encoding.UTF8, ["X-Latin1"] = Encoding.Latin1 };
        Add("X-Utf8", "€é");
        Add("X-Latin1", "é");
        Add("X-Ascii", "plain");

        Assert.Equal(
            "X-Utf8: \xe2\x82\xac\xc3\xa9\r\nX-Latin1: \xe9\r\nX-Ascii: plain\r\nStatus: 200 OK\r\n\r\n", Write());
    }

    [Fact]
    public void Write_EncodingWithManyBytesForACharacter_Fits()
    {
        _encodings = new() { ["X"] = Encoding.UTF32 };
        Add("X", new string('a', 100));

        var value = string.Concat(Enumerable.Repeat("a\0\0\0", 100));
        Assert.Equal($"X: {value}\r\nStatus: 200 OK\r\n\r\n", Write());
    }

    [Fact]
    public void Write_ReasonOfManyBytes_Fits()
    {
        var reason = new string('é', 1_000);

        Assert.Equal($"Status: 200 {reason}\r\n\r\n", Encoding.UTF8.GetString(WriteBytes(200, reason)));
    }

    [Fact]
    public void GetMaxLength_ManyHeaders_IsEnough()
    {
        for (var i = 0; i < 300; i++)
            Add(
                "X-Header-" + i.ToString(System.Globalization.CultureInfo.InvariantCulture),
                new StringValues(["value", "", "x"]));

        var end = "X-Header-299: x\r\nContent-Length: 9223372036854775807\r\nStatus: 511 Network Authentication "
            + "Required\r\n\r\n";
        Assert.EndsWith(end, Write(511, contentLength: long.MaxValue));
    }

    private void AssertRefused(string name, string value)
    {
        _headers.Clear();
        Add(name, value);
        Assert.Throws<InvalidOperationException>(() => Write());
    }

    private void Add(string name, StringValues values) => _headers.Add(new(name, values));

    private string Write(
        int statusCode = StatusCodes.Status200OK, string? reasonPhrase = null, long? contentLength = null)
        => Encoding.Latin1.GetString(WriteBytes(statusCode, reasonPhrase, contentLength));

    private byte[] WriteBytes(int statusCode, string? reasonPhrase, long? contentLength = null)
    {
        var headers = _headers.ToArray();
        var fields = _encodings is null ? null : CgiResponseWriter.EncodeFields(headers, _encodings);
        var destination = new byte[CgiResponseWriter.GetMaxLength(headers, reasonPhrase, fields)];
        return destination[..CgiResponseWriter.Write(
            destination, statusCode, reasonPhrase, headers, fields, contentLength, isStatusFirst: false, out _)];
    }
}
