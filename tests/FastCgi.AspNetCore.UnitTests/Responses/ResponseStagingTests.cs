using System.Globalization;
using System.Text;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>Which records a body becomes, and in which blocks: header block, body and end share one where they fit it.</summary>
public sealed class ResponseStagingTests : IDisposable
{
    private const int Small = 4_096;
    private const int Large = 65_536;

    // The end takes 24 bytes, and a farewell 8 behind it; the room in front of the first block is 512.
    private const int MostInSmall = Small - 512 - 32;

    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    public void Dispose() => _rig.Dispose();

    [Theory]
    [InlineData(1, "H+1", "S")]
    [InlineData(MostInSmall, "H+3552", "S")]
    [InlineData(MostInSmall + 1, "H+3553", "S S")]
    [InlineData(Small - 512, "H+3584", "S S")]
    [InlineData(Small - 511, "H+3585", "L")]
    [InlineData(Large - 512 - 32, "H+64992", "L")]
    [InlineData(Large - 512 - 31, "H+64993", "L S")]
    [InlineData(Large - 512, "H+65024", "L S")]
    [InlineData(Large - 511, "H 65025", "S L")]
    [InlineData(65_528, "H 65528", "S L S")]
    public void Lease_OfThatSize_BecomesTheseRecordsInTheseBlocks(int length, string records, string blocks)
    {
        _rig.Begin();
        _rig.Put(Pattern(length));

        AssertEnds(length, records, blocks);
    }

    [Theory]
    [InlineData("3000", "H+3000", "S")]
    [InlineData("3000 3000", "H+3584 2416", "S L")]
    [InlineData("10000 3000", "H+13000", "L")]
    [InlineData("65016", "H+65016", "L S")]
    [InlineData("65024", "H+65024", "L S")]
    [InlineData("65025", "H+65024 1", "L L")]
    [InlineData("70000", "H+65024 4976", "L L")]
    [InlineData("1 70000", "H+3584 65528 889", "S L L")]
    public async Task Writes_OfThatSize_FillOneBlockAfterTheOther(string writes, string records, string blocks)
    {
        _rig.Begin();
        Response.Output.Cork(sendsAtEnd: true);
        var lengths = writes.Split(' ').Select(static write => int.Parse(write, CultureInfo.InvariantCulture)).ToList();
        var body = Pattern(lengths.Sum());
        var start = 0;
        foreach (var length in lengths)
        {
            await _rig.WriteAsync(body.Substring(start, length));
            start += length;
        }

        AssertEnds(lengths.Sum(), records, blocks);
    }

    /// <summary>A header block that has no room in front of the body takes the body in, if both fit its block.</summary>
    [Theory]
    [InlineData(1_000, 5, "H+5", "S")]
    [InlineData(1_000, 3_056, "H+3056", "S")]
    [InlineData(1_000, 3_057, "H 3057", "S S")]
    [InlineData(1_000, 0, "H+0", "S")]
    [InlineData(10_000, 5, "H+5", "L")]
    [InlineData(65_528, 5, "H 5", "L S")]
    [InlineData(100_000, 5, "65528 R+5", "L L")]
    public void LongHead_WithABody_SharesItsBlockIfItCan(int head, int length, string records, string blocks)
    {
        _rig.Begin();
        var field = head - Head(length);
        Response.Headers["X"] = new string('x', field - "X: \r\n".Length);
        if (length > 0)
            _rig.Put(Pattern(length));

        AssertEnds(length, records, blocks, field);
    }

    [Fact]
    public void LongHead_WithABodyOfSeveralBlocks_ComesBeforeThem()
    {
        _rig.Begin();
        Response.Headers["X"] = new string('x', 1_000);
        var body = Pattern(5_100);
        _rig.Put(body[..100]);
        _rig.Put(body[100..]);

        Response.Finish();

        Assert.Equal(body, _rig.Body);
    }

    /// <summary>What is written is copied, because somebody still writes behind it.</summary>
    [Theory]
    [InlineData(10, 10)]
    [InlineData(10_000, 10)]
    [InlineData(10, 1_000)]
    [InlineData(0, 10)]
    public async Task Flush_WhileMemoryIsHandedOut_DoesNotMoveIt(int before, int head)
    {
        _rig.Begin();
        Response.Headers["X"] = new string('x', head);
        await Response.StartAsync();
        var body = Pattern(before + 50);
        if (before > 0)
            _rig.Put(body[..before]);
        var memory = Response.Writer.GetMemory(50);
        await Response.Writer.FlushAsync();
        Assert.Equal(body[..before], _rig.Body);

        Encoding.Latin1.GetBytes(body[before..]).CopyTo(memory);
        Response.Writer.Advance(50);
        Response.Finish();

        Assert.Equal((body, 0), (_rig.Body, _rig.RentedCount));
    }

    [Theory]
    [InlineData(false, 100_000)]
    [InlineData(false, 65_529)]
    [InlineData(true, 100_000)]
    [InlineData(true, 10)]
    public void Memory_BeyondABlockOrForNobody_IsAsLongAsWanted(bool isDropped, int hint)
    {
        _rig.Begin();
        if (isDropped)
            _rig.Drop();
        var body = Pattern(hint);

        Assert.InRange(Response.Writer.GetMemory(hint).Length, Math.Max(hint, isDropped ? Small : 0), int.MaxValue);
        Assert.Equal(0, _rig.RentedCount);
        _rig.Put(body);
        if (isDropped)
            return;

        Assert.Throws<InvalidOperationException>(() => Response.Writer.Advance(1));
        Response.Finish();
        Assert.Equal(body, _rig.Body);
    }

    [Fact]
    public void Memory_BehindWhatIsStaged_IsAsLongAsWanted()
    {
        _rig.Begin();
        _rig.Put(Pattern(3_500));

        Assert.InRange(Response.Writer.GetMemory(0).Length, 1, 84);
        Assert.InRange(Response.Writer.GetMemory(84).Length, 84, 84);
        Assert.InRange(Response.Writer.GetMemory(85).Length, 85, Large);
    }

    [Fact]
    public async Task Advance_OfNothing_IsNoRecord()
    {
        _rig.Begin();
        await Response.Writer.FlushAsync();
        Response.Writer.GetMemory(10);
        Response.Writer.Advance(0);

        await Response.Writer.FlushAsync();

        Assert.Equal("O18", _rig.Layout);
    }

    /// <summary>Text that differs from its neighbours, so that lost or doubled bytes show.</summary>
    private static string Pattern(int length) => string.Create(length, 0, static (chars, _) =>
    {
        for (var i = 0; i < chars.Length; i++)
            chars[i] = (char)('a' + ((i * 7) ^ (i >> 8)) % 26);
    });

    /// <summary>The header block of a response that has no header of its own.</summary>
    private static int Head(int contentLength) => $"Content-Length: {contentLength}\r\nStatus: 200 OK\r\n\r\n".Length;

    private void AssertEnds(int length, string records, string blocks, int field = 0)
    {
        Assert.True(Response.Finish());

        var head = Head(length) + field;
        var expected = records.Split(' ').Select(part =>
        {
            var sum = part.Split('+').Sum(number => number switch
            {
                "H" => head,
                "R" => head - 65_528,
                _ => int.Parse(number, CultureInfo.InvariantCulture),
            });
            return $"O{sum} ";
        });
        Assert.Equal(string.Concat(expected) + "O0 End8", _rig.Layout);
        Assert.Equal(blocks, string.Join(' ', _rig.Transport.Blocks.Select(static block => block == Small ? "S" : block == Large ? "L" : $"{block}")));
        Assert.Equal(Pattern(length), _rig.Body);
        Assert.Equal(0, _rig.RentedCount);
    }
}
