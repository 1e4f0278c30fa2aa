using System.Text;
using FastCgi.AspNetCore.Diagnostics;
using FastCgi.AspNetCore.Responses;
using Microsoft.Extensions.Primitives;

namespace FastCgi.AspNetCore.UnitTests.Responses;

public sealed class ResponseHeadersTests
{
    private readonly ResponseHeaders _headers = new(new ResponseLock());

    [Theory]
    [InlineData("X Y")]
    [InlineData(" X")]
    [InlineData("X:")]
    [InlineData("X\r\nY")]
    [InlineData("Größe")]
    [InlineData("X\0")]
    public void Set_NameIsNoToken_Throws(string name)
    {
        Assert.Throws<InvalidOperationException>(() => _headers[name] = "v");
        Assert.Throws<InvalidOperationException>(() => _headers.Add(name, "v"));
        Assert.Empty(_headers);
    }

    [Theory]
    [InlineData("a\rb", "0x000D")]
    [InlineData("a\nb", "0x000A")]
    [InlineData("a\0b", "0x0000")]
    [InlineData("\x7f", "0x007F")]
    [InlineData("\x1f", "0x001F")]
    [InlineData("é", "0x00E9")]
    [InlineData("€", "0x20AC")]
    public void Set_ValueIsNotVisibleAscii_ThrowsAndNamesTheCharacter(string value, string named)
    {
        foreach (var set in (Action[])[() => _headers["X"] = value, () => _headers.Add("X", value), () => _headers["X"] = new StringValues(["fine", value])])
            Assert.Contains(named, Assert.Throws<InvalidOperationException>(set).Message, StringComparison.Ordinal);
        Assert.Empty(_headers);
    }

    [Theory]
    [InlineData("")]
    [InlineData(" a\tb ~")]
    public void Set_VisibleAscii_IsTaken(string value)
    {
        _headers["X"] = value;

        Assert.Equal(value, _headers["X"]);
    }

    [Fact]
    [Trait("Contract", "H11")]
    public void Set_EncodingChosenForTheName_AnyButControlCharacters()
    {
        _headers.EncodingSelector = static name => name == "X-Utf8" ? Encoding.UTF8 : null;

        _headers["X-Utf8"] = "é€\t";
        Assert.Throws<InvalidOperationException>(() => _headers["X-Utf8"] = "é\n");
        Assert.Throws<InvalidOperationException>(() => _headers["X-Utf8"] = "\x7f");
        Assert.Throws<InvalidOperationException>(() => _headers["X-Other"] = "é");
        Assert.Equal("é€\t", Assert.Single(_headers).Value);
    }

    [Theory]
    [InlineData("five")]
    [InlineData("-1")]
    [InlineData("+1")]
    [InlineData(" 1")]
    [InlineData("1.0")]
    [InlineData("9223372036854775808")]
    [InlineData("")]
    public void Set_ContentLengthIsNoNumber_Throws(string value)
    {
        Assert.Throws<InvalidOperationException>(() => _headers["content-length"] = value);
        Assert.Null(_headers.ContentLength);
        Assert.Empty(_headers);
    }

    [Fact]
    public void MakeReadOnly_AnyChange_Throws()
    {
        _headers["X"] = "1";
        _headers.MakeReadOnly();

        Assert.True(_headers.IsReadOnly);
        foreach (var change in (Action[])
        [
            () => _headers["X"] = "2",
            () => _headers["Y"] = "2",
            () => _headers["X"] = StringValues.Empty,
            () => _headers.Add("Y", "2"),
            () => _headers.Add(new("Y", "2")),
            () => _headers.Remove("X"),
            () => _headers.Remove(new KeyValuePair<string, StringValues>("X", "1")),
            _headers.Clear,
            () => _headers.ContentLength = 1,
            () => _headers.ContentLength = null,
        ])
        {
            Assert.Contains("read-only", Assert.Throws<InvalidOperationException>(change).Message, StringComparison.Ordinal);
        }

        Assert.Equal("1", Assert.Single(_headers).Value);
    }

    [Fact]
    public void Begin_AnotherResponse_EmptyAndWritable()
    {
        _headers.ContentLength = 5;
        _headers.MakeReadOnly();
        _headers.End();
        Assert.Empty(_headers);
        Assert.Throws<InvalidOperationException>(() => _headers["X"] = "late");

        _headers.Begin();

        Assert.False(_headers.IsReadOnly);
        Assert.Empty(_headers);
        Assert.Null(_headers.ContentLength);
        _headers["X"] = "1";
    }

    [Fact]
    public void TryAppend_HeaderOfTheApplication_IsKept()
    {
        _headers["server"] = "mine";
        _headers.TryAppend("Server", "ours");
        _headers.TryAppend("Date", "now");

        Assert.Equal(["server: mine", "Date: now"], _headers.Select(static header => $"{header.Key}: {header.Value}"));
    }

    [Fact]
    public void Set_NullAmongValues_IsPassedOver()
    {
        _headers["X"] = new StringValues(["a", null, "b"]);

        Assert.Equal(3, _headers["X"].Count);
        Assert.Throws<InvalidOperationException>(() => _headers["X"] = new StringValues([null, "\n"]));
    }

    /// <summary>nginx would repeat Accept-Ranges, the others keep it.</summary>
    [Theory]
    [InlineData("X-Accel-Redirect", "X-Kept: 1, X-Accel-Redirect: /new")]
    [InlineData("X-Sendfile", "Accept-Ranges: bytes, X-Kept: 1, X-Sendfile: /new")]
    public void SetOffload_ReplacesWhatTheWebServerMakesItself(string name, string headers)
    {
        _headers["Accept-Ranges"] = "bytes";
        _headers["Content-Range"] = "bytes 0-1/2";
        _headers["X-Kept"] = "1";
        _headers[name] = "/old";

        _headers.SetOffload(new(name, "/new"));

        Assert.Equal(headers, string.Join(", ", _headers.Select(static header => $"{header.Key}: {header.Value}")));
    }
}
