using System.Text;
using FastCgi.AspNetCore.Cgi;

namespace FastCgi.AspNetCore.Tests.Cgi;

public sealed class CgiMappingTests
{
    private static readonly UTF8Encoding s_strictUtf8 = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    [Theory]
    [InlineData("plain", "plain")]
    [InlineData("a\tb\x01", "a\tb\x01")]
    [InlineData("\xe2\x82\xac", "€")]
    [InlineData("", "")]
    public void DecodeHeader_NoEncodingChosen_Utf8(string bytes, string text)
        => Assert.Equal(text, new CgiMapping().DecodeHeader("X", Encoding.Latin1.GetBytes(bytes)));

    [Fact]
    public void DecodeHeader_EncodingChosenByName_IsUsedForThatHeader()
    {
        var asked = new List<string>();
        var mapping = new CgiMapping
        {
            RequestHeaderEncodingSelector = name =>
            {
                asked.Add(name);
                return name == "X-Latin" ? Encoding.Latin1 : null;
            },
        };

        Assert.True(mapping.CanDecodeHeader("HTTP_X_LATIN"u8, [0xe9]));
        Assert.Equal("é", mapping.DecodeHeader("X-Latin", [0xe9]));
        Assert.False(mapping.CanDecodeHeader("HTTP_X_OTHER"u8, [0xe9]));
        Assert.True(mapping.CanDecodeHeader("CONTENT_TYPE"u8, [0xc3, 0xa9]));
        Assert.Equal(["X-Latin", "X-Latin", "X-Other", "Content-Type"], asked);
    }

    [Theory]
    [InlineData((byte)'\r')]
    [InlineData((byte)'\n')]
    [InlineData((byte)0)]
    public void CanDecodeHeader_LineBreakOrNull_NotWithAnyEncoding(byte value)
    {
        Assert.False(new CgiMapping().CanDecodeHeader("HTTP_X"u8, [(byte)'a', value]));
        Assert.False(new CgiMapping { RequestHeaderEncodingSelector = static _ => Encoding.Latin1 }.CanDecodeHeader("HTTP_X"u8, [(byte)'a', value]));
    }

    [Fact]
    public void CanDecodeHeader_EncodingThatThrows_IsAskedHere()
    {
        var mapping = new CgiMapping { RequestHeaderEncodingSelector = static _ => s_strictUtf8 };

        Assert.False(mapping.CanDecodeHeader("HTTP_X"u8, [0xe9]));
        Assert.True(mapping.CanDecodeHeader("HTTP_X"u8, [0xc3, 0xa9]));
    }

    [Theory]
    [InlineData("plain", "plain")]
    [InlineData("\xc3\xa9", "é")]
    [InlineData("caf\xe9", "café")]
    [InlineData("\xc3\xa9\xff", "Ã©ÿ")]
    public void DecodeVariable_Utf8IfItCanBe_ElseLatin1(string bytes, string text)
        => Assert.Equal(text, new CgiMapping().DecodeVariable(Encoding.Latin1.GetBytes(bytes)));

    [Fact]
    public void DecodeHeader_PersonalValue_IsNotShared()
    {
        var mapping = new CgiMapping();

        Assert.NotSame(mapping.DecodeHeader("Cookie", "a=1"u8), mapping.DecodeHeader("Cookie", "a=1"u8));
        Assert.NotSame(mapping.DecodeHeader("Authorization", "Basic x"u8), mapping.DecodeHeader("Authorization", "Basic x"u8));
        Assert.Same(mapping.DecodeHeader("Accept", "*/*"u8), mapping.DecodeHeader("Accept", "*/*"u8));
    }

    [Fact]
    public void PathBaseBytes_AreItsUtf8()
    {
        Assert.Empty(new CgiMapping().PathBaseBytes);
        Assert.Equal("/gr\xc3\xb6\xc3\x9f" + "e", Encoding.Latin1.GetString(new CgiMapping { PathBase = "/größe" }.PathBaseBytes));
    }
}
