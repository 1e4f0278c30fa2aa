namespace FastCgi.AspNetCore.UnitTests.Cgi;

/// <summary>The rules, spelled out. <see cref="KestrelParityTests"/> shows that they are Kestrel's.</summary>
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
    [InlineData("/%252F", "/%2F")]
    [InlineData("/%%41", "/%A")]
    [InlineData("/%4%31", "/%41")]

    // UTF-8 of one to four bytes.
    [InlineData("/%C3%A9%e2%82%ac%F0%9F%98%80", "/é€😀")]
    [InlineData(
        "/%7F%C2%80%DF%BF%E0%A0%80%EF%BF%BF%F0%90%80%80%F4%8F%BF%BF",
        "/\x7f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff")]
    [InlineData("/%E2%82%41", "/%E2%82A")]
    [InlineData("/%C3%C3%A9", "/%C3é")]

    // Dot segments are removed after that; empty segments stay.
    [InlineData("/a/.", "/a/")]
    [InlineData("/a/..", "/")]
    [InlineData("/a/./b/../c", "/a/c")]
    [InlineData("/../../a", "/a")]
    [InlineData("/..", "/")]
    [InlineData("/%2e%2E/a/%2e/b", "/a/b")]
    [InlineData("/a//../b", "/a/b")]
    [InlineData("//..//a", "//a")]
    public void Decode_Path_FollowsTheRules(string raw, string decoded)
    {
        Assert.Equal(decoded, Decode(raw));
        Assert.False(PathDecoder.IsPlain(Encoding.ASCII.GetBytes(raw)));
    }

    [Theory]
    [InlineData("/%00", "/a/%00/..", "/%C3%00", "/%E2%82%00")]
    public void Decode_NullCharacter_Refused(params string[] paths)
        => Assert.All(paths, static path => Assert.Null(Decode(path)));

    [Fact]
    public void Decode_LongPath_IsDecodedWhole()
        => Assert.Equal("/" + string.Concat(Enumerable.Repeat("é/", 20_000)), Decode("/" + string.Concat(
            Enumerable.Repeat("%C3%A9/", 20_000))));

    private static string? Decode(string raw)
    {
        var destination = new byte[raw.Length];
        var length = PathDecoder.Decode(Encoding.ASCII.GetBytes(raw), destination);
        return length < 0 ? null : Encoding.UTF8.GetString(destination, 0, length);
    }
}
