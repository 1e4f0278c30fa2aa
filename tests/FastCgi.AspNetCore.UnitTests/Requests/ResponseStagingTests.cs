using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>
/// Which records a body becomes, and in which blocks: header block, body and end share one where they fit it. The room
/// in front of the first is 512 bytes, and the end takes 24.
/// </summary>
public sealed class ResponseStagingTests
{
    private const int Small = 4_096;
    private const int Large = 65_536;

    private readonly ResponseRig _rig = new();

    private FastCgiResponse Response => _rig.Response;

    [Theory]
    [InlineData(true, "1", "H+1", "S")]
    [InlineData(true, "3560", "H+3560", "S")]
    [InlineData(true, "3561", "H+3561", "S L")]
    [InlineData(true, "3584", "H+3584", "S L")]
    [InlineData(true, "3585", "H+3585", "L")]
    [InlineData(true, "65000", "H+65000", "L")]
    [InlineData(true, "65001", "H+65001", "L S")]
    [InlineData(true, "65024", "H+65024", "L S")]
    [InlineData(true, "65025", "H 65025", "S L")]
    [InlineData(true, "65528", "H 65528", "S L S")]
    [InlineData(false, "3000", "H+3000", "S")]
    [InlineData(false, "3000 3000", "H+3584 2416", "S L")]
    [InlineData(false, "10000 3000", "H+13000", "L")]
    [InlineData(false, "65016", "H+65016", "L S")]
    [InlineData(false, "65025", "H+65024 1", "L L")]
    [InlineData(false, "70000", "H+65024 4976", "L L")]
    [InlineData(false, "1 70000", "H+3584 65528 889", "S L L")]
    public async Task Body_LeasedOrWrittenInSuchParts_BecomesTheseRecordsInTheseBlocks(
        bool isLeased, string parts, string records, string blocks)
    {
        _rig.Begin();
        Response.Cork(sendsAtEnd: true);
        var lengths = parts.Split(' ').Select(static part => int.Parse(part, CultureInfo.InvariantCulture)).ToList();
        var body = Pattern(lengths.Sum());
        var start = 0;
        foreach (var length in lengths)
        {
            if (isLeased)
                _rig.Put(body.Substring(start, length));
            else
                await _rig.WriteAsync(body.Substring(start, length));
            start += length;
        }

        AssertEnds(lengths.Sum(), records, blocks);
    }

    [Fact]
    public void Body_OfMoreThanTwoGibibytes_HasItsLength()
    {
        _rig.Begin();
        _rig.Put("a");
        using (var scope = _rig.Connection.EnterLock())
            LengthOf(ref Response.In(scope)) = 3L << 30;

        _rig.Complete();

        Assert.Contains("Content-Length: 3221225472\r\n", _rig.Stdout);
    }

    /// <summary>A header block without room before the body takes in the body if both fit its block.</summary>
    [Theory]
    [InlineData(1_000, 5, "H+5", "S")]
    [InlineData(1_000, 3_056, "H+3056", "S")]
    [InlineData(1_000, 3_057, "H 3057", "S L")]
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

    [Theory]
    [InlineData(false, 100_000)]
    [InlineData(false, 65_529)]
    [InlineData(true, 100_000)]
    [InlineData(true, 10)]
    public void Memory_BeyondABlockOrUnowned_IsAsLongAsWantedAndNotOfThePool(bool isAborted, int hint)
    {
        _rig.Begin();
        if (isAborted)
        {
            _rig.Abort();
            _rig.Output.FlushNow();
        }

        var body = Pattern(hint);

        var length = Response.Writer.GetMemory(hint).Length;
        Assert.InRange(length, Math.Max(hint, isAborted ? Small : 0), int.MaxValue);
        Assert.Equal(0, _rig.RentedCount);
        _rig.Put(body);
        if (isAborted)
        {
            Assert.Equal((0L, 0), (Response.Writer.UnflushedBytes, _rig.RentedCount));
            return;
        }

        Assert.Throws<ArgumentOutOfRangeException>(() => Response.Writer.Advance(length - hint + 1));
        Response.Finish();
        Assert.Equal(body, _rig.Body);
    }

    [Fact]
    public void MemoryBeyondABlock_OfTheNextWrite_IsTheSame()
    {
        _rig.Begin();
        var first = Response.Writer.GetMemory(100_000);
        Response.Writer.Advance(100_000);

        Assert.True(first.Equals(Response.Writer.GetMemory(100_000)));
    }

    /// <summary>A rest that stayed leased could be advanced over bytes of a later write.</summary>
    [Theory, Values(100, 100_000)]
    public async Task Memory_AdvancedAndFlushed_IsOver(int hint)
    {
        _rig.Begin();
        await Response.Writer.FlushAsync();
        Response.Writer.GetMemory(hint);
        Response.Writer.Advance(1);

        await Response.Writer.FlushAsync();

        Assert.Throws<InvalidOperationException>(() => Response.Writer.Advance(1));
    }

    /// <summary>The thread that got a span has called again, so it no longer writes to it.</summary>
    [Fact]
    public void SpanBeyondABlock_NextOfItsThread_IsTheSame()
    {
        _rig.Begin();
        var first = Response.Writer.GetSpan(100_000);

        Assert.True(first == Response.Writer.GetSpan(100_000));
    }

    /// <summary>Another thread may be writing to memory over which nobody has advanced.</summary>
    [Fact]
    public void MemoryBeyondABlock_LeasedTwice_IsNotPooledAgain()
    {
        _rig.Begin();
        Response.Writer.GetMemory(100_000);
        var second = Response.Writer.GetMemory(100_000);
        Response.Writer.Advance(100_000);

        Assert.False(second.Equals(Response.Writer.GetMemory(100_000)));
    }

    /// <summary>A write to it must not change records of the connection, which other requests share.</summary>
    [Fact]
    public async Task Memory_ReplacedByOtherMemory_HoldsNoQueuedRecord()
    {
        _rig.Begin();
        _rig.Transport.Holds = true;
        _rig.Occupy();
        await Response.StartAsync();
        var replaced = Response.Writer.GetMemory(100);
        foreach (var part in new[] { "the first part, ", "the second part" })
        {
            _rig.Put(part);
            await Response.Writer.FlushAsync();
        }

        replaced.Span.Clear();
        _rig.Transport.Complete();

        Assert.Equal("the first part, the second part", _rig.Body);
    }

    /// <summary>A late call of the holder of earlier memory does not release the memory that others hold now.</summary>
    [Fact]
    public async Task Memory_EarlierMemoryIsAdvancedLate_IsNotPooledAgain()
    {
        _rig.Begin();
        Response.Writer.GetMemory(100);
        await _rig.WriteAsync("a");
        var current = Response.Writer.GetMemory(100);
        Response.Writer.Advance(1);
        await Response.Writer.FlushAsync();
        _rig.Complete();
        _rig.Output.FlushNow();
        _rig.Begin(2);

        Assert.NotSame(ArrayOf(current), ArrayOf(Response.Writer.GetMemory(100)));
    }

    /// <summary>
    /// <c>WriteAsync</c> of a long string asks for a span that it does not need. Its block is used again, unless the
    /// application may still be writing to it. Memory can be kept, so its block is not used again.
    /// </summary>
    [Theory]
    [InlineData("span", "completed", Small + Large)]
    [InlineData("span, flushed", "completed", Small + Large)]
    [InlineData("span, written", "completed", Small + Large)]
    [InlineData("span of another thread", "completed", Small)]
    [InlineData("span of another thread, flushed", "completed", Small)]
    [InlineData("span of another thread, written", "completed", 2 * Small)]
    [InlineData("span", "aborted", 2 * Small)]
    [InlineData("span", "cut", Small)]
    [InlineData("span", "failed", Small)]
    [InlineData("memory", "completed", Small)]
    [InlineData("memory, span", "completed", Small)]
    [InlineData("span, memory", "completed", Small)]
    public async Task UnusedLease_AtTheEnd_LeavesItsBlockToTheCollectorOnlyIfItMayBeInUse(
        string leases, string end, int pooled)
    {
        _rig.Begin();
        Response.Cork(sendsAtEnd: true);
        _rig.Put("a");
        foreach (var lease in leases.Split(", "))
        {
            switch (lease)
            {
                case "span":
                    Response.Writer.GetSpan(10_000);
                    break;
                case "span of another thread":
                    var thread = new Thread(() => Response.Writer.GetSpan(10_000));
                    thread.Start();
                    Assert.True(thread.Join(Waiting.Patience));
                    break;
                case "memory":
                    Response.Writer.GetMemory(10_000);
                    break;
                case "written":
                    await _rig.WriteAsync("b");
                    break;
                default:
                    await Response.Writer.FlushAsync();
                    break;
            }
        }

        if (end == "aborted")
            _rig.Abort();
        if (end == "cut")
            Response.Cut();
        else
            _rig.Complete(end == "failed" ? new InvalidOperationException("on purpose") : null);
        _rig.Output.FlushNow();

        Assert.Equal((pooled, 0), (_rig.PooledBytes, _rig.RentedCount));
    }

    private static byte[] ArrayOf(Memory<byte> memory)
        => MemoryMarshal.TryGetArray<byte>(memory, out var array) ? array.Array! : [];

    /// <summary>Text that differs from its neighbors, so that lost or duplicated bytes are detected.</summary>
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "<Length>k__BackingField")]
    private static extern ref long LengthOf(ref ResponseStaging staging);

    private static string Pattern(int length) => string.Create(length, 0, static (chars, _) =>
    {
        for (var i = 0; i < chars.Length; i++)
            chars[i] = (char)('a' + ((i * 7) ^ (i >> 8)) % 26);
    });

    /// <summary>The header block of a response without headers.</summary>
    private static int Head(int contentLength) => $"Content-Length: {contentLength}\r\nStatus: 200 OK\r\n\r\n".Length;

    private void AssertEnds(int length, string records, string blocks, int field = 0)
    {
        Response.Finish();

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
        Assert.Equal(blocks, string.Join(' ', _rig.Transport.Blocks.Select(
            static block => block switch
            {
                Small => "S",
                Large => "L",
                _ => $"{block}",
            })));
        Assert.Equal(Pattern(length), _rig.Body);
        Assert.Equal(0, _rig.RentedCount);
    }
}
