namespace FastCgi.AspNetCore.UnitTests.Requests;

public sealed class ResponseHeadersTests
{
    private readonly ResponseHeaders _headers = new()
    {
        EncodingSelector = static name => name == "X-Utf8" ? Encoding.UTF8 : null,
    };

    [Fact]
    [Contract("H11")]
    public void Set_EncodingChosenForTheName_AnyButControlCharacters()
    {
        _headers["X-Utf8"] = "é€\t";
        Assert.Throws<InvalidOperationException>(() => _headers["X-Utf8"] = "é\n");
        Assert.Throws<InvalidOperationException>(() => _headers["X-Utf8"] = "\x7f");
        Assert.Throws<InvalidOperationException>(() => _headers["X-Other"] = "é");
        Assert.Equal("é€\t", Assert.Single(_headers).Value);
    }

    [Fact]
    public void Set_NullAmongValues_IsPassedOver()
    {
        _headers["X"] = new StringValues(["a", null, "b"]);

        Assert.Equal(3, _headers["X"].Count);
        Assert.Throws<InvalidOperationException>(() => _headers["X"] = new StringValues([null, "\n"]));
    }
}
