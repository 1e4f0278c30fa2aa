using System.Buffers.Binary;
using System.IO.Pipelines;
using FastCgi.AspNetCore.Buffers;
using FastCgi.AspNetCore.Responses;

namespace FastCgi.AspNetCore.UnitTests.Responses;

/// <summary>The line in which the responses of one connection wait while a send is under way, which ends when the test says so.</summary>
public sealed class RecordOutputTests : IDisposable
{
    // The content of a full record, and all of it.
    private const int FullContent = 65_528;
    private const int FullRecord = 65_536;

    private readonly BufferPool _pool = new();
    private readonly SlowTransport _transport;
    private readonly RecordOutput _output;

    public RecordOutputTests()
    {
        _output = new RecordOutput(_pool);
        _transport = new SlowTransport(_output);
        _output.Attach(_transport);
    }

    public void Dispose() => _pool.Dispose();

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public void Remove_AnyOfTheLine_TheOthersAndThoseThatComeAreSentInOrder(int removed)
    {
        Occupy();
        var responses = Enumerable.Range(1, 4).Select(id => Begin(id)).ToArray();
        Array.ForEach(responses, static response => Write(response, 1));

        Drop(responses[removed - 1]);
        Assert.False(responses[removed - 1].Output.IsQueued);
        Assert.Null(responses[removed - 1].Output.NextQueued);
        Write(Begin(5), 1);
        _transport.Complete();

        Assert.Equal(new[] { 1, 2, 3, 4, 5 }.Where(id => id != removed), _transport.Last.Select(static record => record.Id));
        Write(Begin(6), 1);
        _transport.Complete();
        Assert.Equal([6], _transport.Last.Select(static record => record.Id));
    }

    [Fact]
    public void Send_CarriesFourLargeRecordsAtMost()
    {
        var response = BeginAndWriteHead(1);

        Write(response, 6 * FullContent);

        _transport.Complete();
        Assert.Equal([FullRecord, FullRecord, FullRecord, FullRecord], _transport.Last.Select(static record => record.Length));
        _transport.Complete();
        Assert.Equal([FullRecord, FullRecord], _transport.Last.Select(static record => record.Length));
    }

    [Theory]
    [InlineData(FullRecord, "1 1 2 1")]
    [InlineData(FullRecord + 1, "1 2 1 1")]
    public void Turn_TakesWhatIsOneLargeRecordTogether(int length, string order)
    {
        var first = BeginAndWriteHead(1);
        var second = BeginAndWriteHead(2);
        _transport.Complete();

        Write(first, 30_000);
        Write(first, length - 30_000 - 16);
        Write(first, 1);
        Write(second, 1);
        _transport.Complete();

        Assert.Equal(order, string.Join(' ', _transport.Last.Select(static record => record.Id)));
    }

    [Theory]
    [InlineData(999, true)]
    [InlineData(1_000, false)]
    public void Write_AsMuchQueuedAsTheLimit_Waits(int queued, bool isDone)
    {
        var response = BeginAndWriteHead(1, limit: 1_000);

        var write = Write(response, queued - 8);

        Assert.Equal(isDone, write.IsCompleted);
        _transport.Complete();
        Assert.True(write.IsCompleted);
    }

    [Theory]
    [InlineData(999, true)]
    [InlineData(1_000, false)]
    public void Write_ThatWaits_IsDoneAsSoonAsLessThanTheLimitIsQueued(int left, bool isDone)
    {
        var response = BeginAndWriteHead(1, limit: 1_000);
        var write = Write(response, 4 * FullContent + left - 8);
        Assert.False(write.IsCompleted);

        _transport.Complete();
        Assert.Equal(isDone, write.IsCompleted);
        _transport.Complete();
        Assert.True(write.IsCompleted);
    }

    [Fact]
    public void Flush_OfAResponseThatHasEndedMeanwhile_DoesNotWait()
    {
        var response = BeginAndWriteHead(1, limit: 1_000);
        ResponseOutput.PendingFlush flush;
        using (response.Output.EnterLock())
        {
            response.Output.Write(new byte[2_000]);
            flush = response.Output.Flush(isLikelyLast: false);
        }

        response.Finish();

        Assert.True(response.Output.SendAsync(flush, CancellationToken.None).AsTask().IsCompletedSuccessfully);
    }

    [Fact]
    public void Flush_OfAResponseThatWasDropped_DoesNotWaitForTheNextOne()
    {
        var response = BeginAndWriteHead(1, limit: 1_000);
        ResponseOutput.PendingFlush flush;
        using (response.Output.EnterLock())
        {
            response.Output.Write(new byte[2_000]);
            flush = response.Output.Flush(isLikelyLast: false);
        }

        Drop(response);
        response.Close();
        Begin(response, 2, limit: 1_000);
        Assert.False(Write(response, 2_000).IsCompleted);

        Assert.True(response.Output.SendAsync(flush, CancellationToken.None).AsTask().IsCompletedSuccessfully);
    }

    [Fact]
    public void GetMemory_OfADroppedResponse_IsNotOfThePool()
    {
        var response = BeginAndWriteHead(1);
        Drop(response);
        var rented = _pool.RentedCount;

        Assert.InRange(response.Writer.GetMemory(10).Length, 10, int.MaxValue);

        Assert.Equal(rented, _pool.RentedCount);
    }

    [Fact]
    public async Task Write_OfTheNextResponseOfAnObjectThatWasAwaitedWhole_IsDoneBelowTheLimit()
    {
        var response = BeginAndWriteHead(1, limit: 1_000);
        _ = Write(response, 2_000);
        response.Finish();
        var drain = response.Output.DrainAsync().AsTask();
        _transport.Complete();
        await drain.Within("the drain");
        response.Close();
        Begin(response, 2, limit: 1_000);

        // Five records are sent together, and less than the limit is left.
        var write = Write(response, 5 * FullContent);
        Assert.False(write.IsCompleted);
        _transport.Complete();
        Assert.True(write.IsCompleted);
        Assert.True(response.Output.IsQueued);
    }

    [Fact]
    public async Task Drain_WhileTheEndIsQueued_Waits()
    {
        var response = BeginAndWriteHead(1);
        _ = Write(response, 5 * FullContent);
        Assert.False(response.Finish());
        var drain = response.Output.DrainAsync().AsTask();

        _transport.Complete();
        Assert.False(drain.IsCompleted);
        _transport.Complete();

        await drain.Within("the drain");
    }

    [Fact]
    public void WriteControl_WhileASendIsUnderWay_IsCountedAndNotIdle()
    {
        Assert.True(IsIdle());
        Occupy();
        Assert.False(IsIdle());
        Control(count: 256);

        Assert.Equal(4_096, _output.ControlLength);
        _transport.Complete();

        Assert.Equal(256, _transport.Last.Count);
        // They fill one page.
        Assert.Equal(1, _transport.LastBlocks);
        Assert.Equal(0, _output.ControlLength);
        Assert.False(IsIdle());
        _transport.Complete();
        Assert.True(IsIdle());
    }

    [Fact]
    public void IsIdle_WithARecordOfNoResponse_IsNot()
    {
        Control(count: 1);

        Assert.False(IsIdle());
        _output.FlushNow();
        _transport.Complete();
        Assert.True(IsIdle());
    }

    [Fact]
    public void CloseWhenSent_IsDoneOnceBehindAllThatWasQueued()
    {
        Occupy();
        Control(count: 1);
        using (_output.EnterLock())
            _output.CloseWhenSent();
        _output.FlushNow();
        _transport.Complete();
        Assert.Equal(0, _transport.CloseCount);

        _transport.Complete();
        Assert.Equal(1, _transport.CloseCount);
        Occupy();
        _transport.Complete();
        Assert.Equal(1, _transport.CloseCount);
    }

    [Fact]
    public void CloseWhenSent_WithNothingQueued_IsDoneByTheNextFlush()
    {
        using (_output.EnterLock())
            _output.CloseWhenSent();

        _output.FlushNow();

        Assert.Equal(1, _transport.CloseCount);
    }

    [Fact]
    public void CloseWhenSent_AndSomebodyCollectsNothingBeforeTheFlush_IsDone()
    {
        using (_output.EnterLock())
        {
            _output.CloseWhenSent();
            Assert.Null(_output.Collect());
        }

        _output.FlushNow();

        Assert.Equal(1, _transport.CloseCount);
    }

    [Fact]
    public void Abandon_WhileASendIsUnderWay_NothingMoreIsSentOrClosedAndAllIsGivenBack()
    {
        var response = BeginAndWriteHead(1, limit: 1_000);
        var write = Write(response, 2_000);
        Control(count: 1);
        using (_output.EnterLock())
            _output.CloseWhenSent();

        _output.Abandon();
        Assert.True(write.IsCompleted);
        _transport.Complete();
        Control(count: 1);
        _output.FlushNow();

        Assert.Single(_transport.Sends);
        Assert.Equal(0, _transport.CloseCount);
    }

    private bool IsIdle()
    {
        using (_output.EnterLock())
            return _output.IsIdle;
    }

    /// <summary>Begins a send that carries one record of no response.</summary>
    private void Occupy()
    {
        Control(count: 1);
        _output.FlushNow();
    }

    private void Control(int count)
    {
        using (_output.EnterLock())
        {
            for (var i = 0; i < count; i++)
                _output.WriteEndRequest(99, appStatus: 0, default);
        }
    }

    private FastCgiResponse Begin(int id, long limit = long.MaxValue)
    {
        var response = new FastCgiResponse(new ResponseOwnerStub());
        Begin(response, id, limit);
        return response;
    }

    private void Begin(FastCgiResponse response, int id, long limit)
        => response.Begin(_output, (ushort)id, new ResponseSettings { MaxBufferSize = limit }, isHead: false, isAuthorizer: false);

    private void Drop(FastCgiResponse response)
    {
        using (_output.EnterLock())
            response.Output.Drop();
    }

    /// <summary>Begins a response, whose header block is being sent.</summary>
    private FastCgiResponse BeginAndWriteHead(int id, long limit = long.MaxValue)
    {
        var response = Begin(id, limit);
        _ = response.StartAsync();
        _ = response.Writer.FlushAsync().AsTask();
        return response;
    }

    private static Task<FlushResult> Write(FastCgiResponse response, int length) => response.Writer.WriteAsync(new byte[length]).AsTask();

    /// <summary>Takes one send at a time, and notes the records in it.</summary>
    private sealed class SlowTransport(RecordOutput output) : OutputTransport
    {
        public List<List<(int Id, int Length)>> Sends { get; } = [];

        public List<(int Id, int Length)> Last => Sends[^1];

        public int LastBlocks { get; private set; }

        public int CloseCount { get; private set; }

        public override bool Send(BufferBlock chain)
        {
            var bytes = new List<byte>();
            LastBlocks = 0;
            for (var block = chain; block is not null; block = block.Next)
            {
                bytes.AddRange(block.UsedSpan);
                LastBlocks++;
            }

            Sends.Add([.. Parse([.. bytes])]);
            return false;
        }

        public override void Close() => CloseCount++;

        /// <summary>The send that is under way is over.</summary>
        public void Complete() => output.OnSent();

        private static IEnumerable<(int Id, int Length)> Parse(byte[] bytes)
        {
            for (var start = 0; start < bytes.Length;)
            {
                var length = 8 + BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 4)) + bytes[start + 6];
                yield return (BinaryPrimitives.ReadUInt16BigEndian(bytes.AsSpan(start + 2)), length);
                start += length;
            }
        }
    }
}
