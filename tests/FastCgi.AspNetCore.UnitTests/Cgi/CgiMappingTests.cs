namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class CgiMappingTests
{
    private static readonly UTF8Encoding s_strictUtf8 = new(
        encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

    [Fact]
    [Contract("H10")]
    public void DecodeByApplication_EncodingChosenByName_IsUsedForThatHeader()
    {
        var asked = new List<string>();
        var mapping = new CgiMapping(new()
        {
            RequestHeaderEncodingSelector = name =>
            {
                asked.Add(name);
                return name == "X-Latin" ? Encoding.Latin1 : null;
            },
        });

        var rejection = mapping.DecodeByApplication(
            Pairs(
                ("HTTP_X_LATIN", [0xe9]), ("SERVER_NAME", [0xe9]), ("CONTENT_TYPE", [0xc3, 0xa9]),
                ("HTTP_X_PLAIN", [0x41])),
            out var texts);

        Assert.Equal(RequestRejection.None, rejection);
        Assert.Equal(["é", "é"], texts!.OrderBy(static text => text.Key).Select(static text => text.Value));
        Assert.Equal(0, texts!.Keys.Min());
        Assert.Equal(["X-Latin", "Content-Type"], asked);
    }

    [Fact]
    public void CanDecodeHeader_LineBreakOrNull_NotWithAnyEncoding()
        => Assert.All((byte[])[(byte)'\r', (byte)'\n', 0], static value =>
        {
            Assert.False(new CgiMapping(new()).CanDecodeHeader([(byte)'a', value]));
            Assert.False(
                new CgiMapping(new()
                {
                    RequestHeaderEncodingSelector = static _ => Encoding.Latin1,
                }).CanDecodeHeader([(byte)'a', value]));
        });

    /// <summary>None was chosen, or one that throws.</summary>
    [Theory, Values(false, true)]
    public void DecodeByApplication_NotUtf8_IsTheClientsMistake(bool isChosen)
    {
        var mapping = new CgiMapping(new() { RequestHeaderEncodingSelector = _ => isChosen ? s_strictUtf8 : null });

        Assert.Equal(
            RequestRejection.InvalidHeaderValue, mapping.DecodeByApplication(Pairs(("HTTP_X", [0xe9])), out _));
        Assert.Equal(RequestRejection.None, mapping.DecodeByApplication(Pairs(("HTTP_X", [0xc3, 0xa9])), out _));
    }

    [Theory]
    [InlineData("plain", "plain")]
    [InlineData("\xc3\xa9", "é")]
    [InlineData("caf\xe9", "café")]
    [InlineData("\xc3\xa9\xff", "Ã©ÿ")]
    public void DecodeVariable_Utf8IfValid_OtherwiseLatin1(string bytes, string text)
        => Assert.Equal(text, new CgiMapping(new()).DecodeVariable(Encoding.Latin1.GetBytes(bytes)));

    [Fact]
    public void DecodeHeader_PersonalValue_IsNotShared()
    {
        var mapping = new CgiMapping(new());

        Assert.NotSame(mapping.DecodeHeader("Cookie", "a=1"u8), mapping.DecodeHeader("Cookie", "a=1"u8));
        Assert.NotSame(
            mapping.DecodeHeader("Authorization", "Basic x"u8), mapping.DecodeHeader("Authorization", "Basic x"u8));
        Assert.Same(mapping.DecodeHeader("Accept", "*/*"u8), mapping.DecodeHeader("Accept", "*/*"u8));
    }

    [Fact]
    public void Map_TargetWithQuery_SharesOnlyThePath()
    {
        var mapping = new CgiMapping(new());
        var parameters = Pairs(("REQUEST_METHOD", "GET"u8.ToArray()), ("REQUEST_URI", "/path?query=1"u8.ToArray()));

        CgiRequestMapper.Map(parameters, mapping, out var first);
        CgiRequestMapper.Map(parameters, mapping, out var second);
        var raw = CgiRequestMapper.GetRawTarget(parameters, mapping);

        Assert.Same(first.Path, second.Path);
        Assert.Equal(("?query=1", "/path?query=1"), (first.QueryString, raw));
        Assert.NotSame(first.QueryString, second.QueryString);
        Assert.NotSame(raw, CgiRequestMapper.GetRawTarget(parameters, mapping));
    }

    [Fact]
    public void PathBase_IsItsUtf8()
    {
        Assert.Empty(new CgiMapping(new()).PathBase);
        Assert.Equal(
            "/gr\xc3\xb6\xc3\x9f" + "e",
            Encoding.Latin1.GetString(new CgiMapping(new() { PathBase = "/größe" }).PathBase));
    }

    private static byte[] Pairs(params (string Name, byte[] Value)[] pairs)
        => [.. pairs.SelectMany(static pair => RecordBytes.Pair(Encoding.ASCII.GetBytes(pair.Name), pair.Value))];
}
