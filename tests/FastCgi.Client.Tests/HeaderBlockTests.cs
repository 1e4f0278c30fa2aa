using FastCgi.Client.Cgi;

namespace FastCgi.Client.Tests;

public sealed class HeaderBlockTests
{
    [Theory]
    [InlineData("Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\n", 404, "Not Found", 1)]
    [InlineData("Content-Type: text/plain\n\n", 200, "OK", 1)]
    [InlineData("content-type:text/plain\r\nstatus:204\r\n\r\n", 204, "", 1)]
    [InlineData("Location: /elsewhere\r\n\r\n", 302, "Found", 1)]
    [InlineData("Status: 201 Created\r\nLocation: /new\r\n\r\n", 201, "Created", 1)]
    [InlineData("Status: 200\r\n\r\n", 200, "", 0)]
    [InlineData("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n", 200, "OK", 2)]
    [InlineData("X-Empty:\r\n\r\n", 200, "OK", 1)]
    [InlineData("Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 200, "OK", 2)]
    public void Parse_Valid_IsRead(string block, int status, string reason, int headers)
    {
        var head = HeaderBlock.Parse(Encoding.Latin1.GetBytes(block));

        Assert.Equal((status, reason, headers), (head.StatusCode, head.ReasonPhrase, head.Headers.Count));
        Assert.DoesNotContain(
            head.Headers, static header => header.Key.Equals("Status", StringComparison.OrdinalIgnoreCase));
    }

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nA: b\r\n\r\n", "HTTP status line")]
    [InlineData("no colon\r\n\r\n", "'no colon' has no name")]
    [InlineData(": value\r\n\r\n", "has no name")]
    [InlineData("a b: value\r\n\r\n", "invalid characters")]
    [InlineData("A: b\r\n folded: c\r\n\r\n", "invalid characters")]
    [InlineData("A: b\rc\r\n\r\n", "CR or NUL")]
    [InlineData("A: b\0c\r\n\r\n", "CR or NUL")]
    [InlineData("Status: abc\r\n\r\n", "three digits")]
    [InlineData("Status: 2000\r\n\r\n", "three digits")]
    [InlineData("Status: 99\r\n\r\n", "three digits")]
    [InlineData("Status: 200\r\nStatus: 500\r\n\r\n", "two Status fields")]
    [InlineData("Content-Length: -1\r\n\r\n", "instead of digits")]
    [InlineData("Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "two different")]
    [InlineData("Content-Length: 99999999999999999999\r\n\r\n", "instead of digits")]
    [InlineData("\r\n", "no field")]
    [InlineData("Status: \e[2J\n\n", "'?[2J' instead of three digits")]
    [InlineData("Content-Length: \e]0;x\a\n\n", "'?]0;x?' instead of digits")]
    public void Parse_Malformed_ErrorGivesReason(string block, string why)
    {
        var exception = Assert.Throws<FastCgiProtocolException>(
            () => HeaderBlock.Parse(Encoding.Latin1.GetBytes(block)));

        Assert.Equal(FastCgiProtocolError.MalformedHeaders, exception.Error);
        Assert.Contains(why, exception.Message);
    }

    [Fact]
    public void Parse_BytesBeyondAscii_AreNotLost()
        => Assert.Equal("\u00c3\u00a4", HeaderBlock.Parse([.. "A: "u8, 0xc3, 0xa4, .. "\n\n"u8]).Headers[0].Value);

    [Theory]
    [InlineData("A: b\r\n\r\nbody")]
    [InlineData("A: b\n\nbody\n\n")]
    [InlineData("A: b\r\n\n")]
    public void FindEnd_OfEveryPrefix_IsFoundWhenItIsThere(string text)
    {
        var bytes = Encoding.Latin1.GetBytes(text);
        var end = text.IndexOf("\n\r\n", StringComparison.Ordinal) is var crlf
            and >= 0 ? crlf + 3 : text.IndexOf("\n\n", StringComparison.Ordinal) + 2;
        var from = 0;
        for (var length = 0; length <= bytes.Length; length++)
        {
            if (length < end)
                Assert.Equal(-1, HeaderBlock.FindEnd(bytes.AsSpan(0, length), ref from));
            else
                Assert.Equal(end, HeaderBlock.FindEnd(bytes.AsSpan(0, length), ref from));
        }
    }
}
