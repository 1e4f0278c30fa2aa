namespace FastCgi.AspNetCore.UnitTests.Diagnostics;

/// <summary>Foreign text in a log line cannot imitate another line.</summary>
public sealed class LogTextTests
{
    [Fact]
    public void Clean_EveryCharacter_HarmfulOnesAreBlanks()
    {
        for (var c = 0; c <= 0xFFFF; c++)
        {
            var isHarmful = char.IsControl((char)c)
                || c is 0x061C or 0x200E or 0x200F or (>= 0x2028 and <= 0x202E) or (>= 0x2066 and <= 0x2069);
            Assert.Equal(isHarmful ? ' ' : (char)c, LogText.Clean(((char)c).ToString())[0]);
        }
    }

    [Theory]
    [InlineData("abc", 3, "abc")]
    [InlineData("abcd", 3, "abc…")]
    [InlineData("a\nc", 3, "a c")]
    [InlineData("a\ncd", 3, "a c…")]
    [InlineData("ab😀d", 3, "ab…")]
    [InlineData("ab😀d", 4, "ab😀…")]
    [InlineData("abc", 0, "…")]
    [InlineData("", 0, "")]
    [InlineData("😀", 1, "…")]
    public void Clean_LongText_IsCutBetweenCharacters(string text, int length, string clean)
        => Assert.Equal(clean, LogText.Clean(text, length));

    [Fact]
    public void Require_FalseCondition_ThrowsAndNamesIt()
    {
        Invariants.Require(true, "never");
        Assert.Equal("what", Assert.Throws<InvariantException>(static () => Invariants.Require(false, "what")).Message);
        Assert.NotNull(Invariants.FirstViolation);
    }
}
