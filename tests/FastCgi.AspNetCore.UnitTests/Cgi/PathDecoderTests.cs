namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>The rules, each written out. That they are Kestrel's is shown by <see cref="KestrelParityTests"/>.</summary>
public sealed class PathDecoderTests
{
    [Theory]

    // Escapes are decoded once; plus is plus.
    [InlineData("/%41%62c", "/Abc")]
    [InlineData("/a+b%2Bc", "/a+b+c")]
    [InlineData("/%25", "/%")]
    [InlineData("/%2541", "/%41")]
    [InlineData("/%25%30%30", "/%00")]
    [InlineData("/%5C%5c", "/\\\\")]
    [InlineData("/%0A%09%7F", "/\n\t\x7f")]

    // An escaped slash stays.
    [InlineData("/a%2Fb%2fc", "/a%2Fb%2fc")]
    [InlineData("/%252F", "/%2F")]

    // Malformed escapes stay.
    [InlineData("/%", "/%")]
    [InlineData("/%4", "/%4")]
    [InlineData("/%zz%4g", "/%zz%4g")]
    [InlineData("/%%41", "/%A")]
    [InlineData("/%4%31", "/%41")]

    // UTF-8 of one to four bytes.
    [InlineData("/%C3%A9%e2%82%ac%F0%9F%98%80", "/é€😀")]
    [InlineData("/%7F%C2%80%DF%BF%E0%A0%80%EF%BF%BF%F0%90%80%80%F4%8F%BF%BF", "/\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff")]

    // What is not UTF-8 stays, escape by escape: alone, cut short, overlong, surrogate, out of range.
    [InlineData("/%A9", "/%A9")]
    [InlineData("/%C3", "/%C3")]
    [InlineData("/%C3x%A9", "/%C3x%A9")]
    [InlineData("/%E2%82%41", "/%E2%82A")]
    [InlineData("/%E2%82%2F", "/%E2%82%2F")]
    [InlineData("/%C3%C3%A9", "/%C3é")]
    [InlineData("/%C0%AF", "/%C0%AF")]
    [InlineData("/%E0%80%AF", "/%E0%80%AF")]
    [InlineData("/%ED%A0%80", "/%ED%A0%80")]
    [InlineData("/%F4%90%80%80", "/%F4%90%80%80")]
    [InlineData("/%F5%80%80%80%FE%FF", "/%F5%80%80%80%FE%FF")]

    // Dot segments are removed after that; empty segments stay.
    [InlineData("/a/.", "/a/")]
    [InlineData("/a/..", "/")]
    [InlineData("/a/./b/../c", "/a/c")]
    [InlineData("/../../a", "/a")]
    [InlineData("/..", "/")]
    [InlineData("/%2e%2E/a/%2e/b", "/a/b")]
    [InlineData("/a//../b", "/a/b")]
    [InlineData("//..//a", "//a")]
    [InlineData("/.../.a/a./..a", "/.../.a/a./..a")]
    [InlineData("/a%2F../b", "/a%2F../b")]
    [InlineData("/a/..;x/b", "/a/..;x/b")]
    [InlineData("/a\\..\\b", "/a\\..\\b")]
    public void Decode_Path_FollowsTheRules(string raw, string decoded)
    {
        Assert.Equal(decoded, Decode(raw));
        Assert.True(raw == decoded || !PathDecoder.IsPlain(Encoding.ASCII.GetBytes(raw)));
    }

    [Theory]
    [InlineData("/%00")]
    [InlineData("/a/%00/..")]
    [InlineData("/%C3%00")]
    [InlineData("/%E2%82%00")]
    public void Decode_NullCharacter_Refused(string raw) => Assert.Null(Decode(raw));

    [Theory]
    [InlineData("/", "/")]
    [InlineData("/a", "/a")]
    [InlineData("/a/..", "/")]
    [InlineData("/a/b/../../..", "/")]
    [InlineData("/a/./", "/a/")]
    [InlineData("/%2e", "/%2e")]
    [InlineData("/é/../x", "/x")]
    public void RemoveDotSegments_DecodedPath_InPlace(string path, string expected)
    {
        var bytes = Encoding.UTF8.GetBytes(path);

        Assert.Equal(expected, Encoding.UTF8.GetString(bytes, 0, PathDecoder.RemoveDotSegments(bytes)));
    }

    [Fact]
    public void Decode_LongPath_IsDecodedWhole()
        => Assert.Equal("/" + string.Concat(Enumerable.Repeat("é/", 20_000)), Decode("/" + string.Concat(Enumerable.Repeat("%C3%A9/", 20_000))));

    private static string? Decode(string raw)
    {
        var destination = new byte[raw.Length];
        var length = PathDecoder.Decode(Encoding.ASCII.GetBytes(raw), destination);
        return length < 0 ? null : Encoding.UTF8.GetString(destination, 0, length);
    }
}
