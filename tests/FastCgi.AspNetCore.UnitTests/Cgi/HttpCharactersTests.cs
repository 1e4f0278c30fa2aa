namespace FastCgi.AspNetCore.UnitTests.Cgi;

public sealed class HttpCharactersTests
{
    [Fact]
    public void IsSuspect_EachByteAtEachPosition_IsFound()
    {
        // Up to three steps of eight bytes, and a partial step.
        for (var length = 1; length <= 25; length++)
        {
            for (var position = 0; position < length; position++)
            {
                for (var value = 0; value <= byte.MaxValue; value++)
                {
                    var bytes = new byte[length];
                    // The allowed bytes that are next to forbidden ones.
                    Array.Fill(bytes, position % 2 == 0 ? (byte)0x7f : (byte)0x20);
                    bytes[position] = (byte)value;

                    var isSuspect = HttpCharacters.IsSuspect(bytes);

                    if (value is 0 or '\r' or '\n' or > 0x7f)
                        Assert.True(isSuspect, $"{value:X2} at {position} of {length}");
                    else if (value is >= ' ' and <= 0x7f)
                        Assert.False(isSuspect, $"{value:X2} at {position} of {length}");
                }
            }
        }
    }

    [Fact]
    public void IsSuspect_Empty_IsNot() => Assert.False(HttpCharacters.IsSuspect([]));

    [Fact]
    public void FieldValue_EachAsciiCharacter_IsVisibleOrControl()
    {
        for (var c = '\0'; c <= '\x7f'; c++)
        {
            var isControl = c is (< ' ' and not '\t') or '\x7f';
            Assert.Equal(isControl ? 0 : -1, HttpCharacters.IndexOfControl([c]));
            Assert.Equal(isControl ? 0 : -1, HttpCharacters.IndexOfNonAsciiFieldValue([c]));
        }

        Assert.Equal(-1, HttpCharacters.IndexOfControl(['é']));
        Assert.Equal(0, HttpCharacters.IndexOfNonAsciiFieldValue(['é']));
    }
}
