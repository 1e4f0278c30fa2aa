namespace FastCgi.AspNetCore.UnitTests.Streams;

/// <summary>
/// The queue of a connection's responses: whose turn it is, what one send carries, whether it continues, and what
/// follows the last.
/// </summary>
public sealed class RecordOutputTests
{
    private const int FullRecord = 65_536;

    private readonly ResponseRig _rig = new() { Transport = { Holds = true } };

    private RecordOutput Output => _rig.Output;

    [Theory, Values(1, 2, 3, 4)]
    public void Queue_OneIsAborted_TheOthersAndThoseThatComeAreSentInOrder(int aborted)
    {
        _rig.Occupy();
        var requests = Enumerable.Range(1, 4).Select(Begin).ToArray();
        Array.ForEach(requests, static request => Write(request.Response, 1));

        _rig.Abort(aborted);
        Assert.False(_rig.Locked(scope => scope.State.Output.Queued.Contains(requests[aborted - 1])));
        Write(_rig.Begin(5), 1);
        Complete();

        Assert.Equal(new[] { 1, 2, 3, 4, 5 }.Where(id => id != aborted), LastIds());
        Write(_rig.Begin(6), 1);
        Complete();
        Assert.Equal([6], LastIds());
    }

    /// <summary>A lost step would make a slow peer look like one that takes nothing.</summary>
    [Fact]
    public async Task Progress_WhileSendsBegin_EveryStepCounts()
    {
        const int Steps = 200_000;
        _rig.Transport.Holds = false;
        _rig.Occupy();
        var before = CountSteps();
        var progress = Task.Run(() =>
        {
            for (var i = 0; i < Steps; i++)
                Output.OnSendProgress();
        });
        var sends = 0;
        do
        {
            _rig.Occupy();
            sends++;
        }
        while (!progress.IsCompleted);

        await progress;
        // Each send that ends looks for the next, which counts too if there is none. So do those of the first count.
        Assert.Equal(Steps + (2 * sends) + 2, CountSteps() - before);
    }

    [Theory]
    [InlineData(FullRecord, "1 1 2")]
    [InlineData(FullRecord + 1, "1 2 1")]
    public void Turn_WritesThatFillOneRecord_AreSentAsOne(int length, string order)
    {
        var (first, second) = (BeginAndFlushHead(1), BeginAndFlushHead(2));
        Complete();

        Write(first, 1);
        Write(first, length - 9 - 8);
        Write(second, 1);
        Complete();

        Assert.Equal(order, string.Join(' ', LastIds()));
    }

    /// <summary>A reset discards undelivered bytes: of the cut response only, or also of those before.</summary>
    [Theory]
    [InlineData(0L, false, false)]
    [InlineData(26L, false, false)]
    [InlineData(27L, false, true)]
    [InlineData(null, false, false)]
    [InlineData(null, true, true)]
    public void Cut_AnswerBeforeItMayNotBeDelivered_IsNotByReset(long? undelivered, bool isShared, bool isByEndRequest)
    {
        _rig.Transport.Holds = false;
        var first = _rig.Begin(1);
        if (isShared)
            _rig.Begin(2);
        first.Finish();
        if (!isShared)
            _rig.Begin(2);
        // A record of 26 bytes.
        _ = _rig.Response.Writer.FlushAsync().AsTask();
        _rig.Transport.Undelivered = undelivered;

        _rig.Response.Cut();

        Assert.Equal(
            isByEndRequest ? 1 : 0,
            _rig.Transport.Records.Count(static record => record is { Id: 2, Type: RecordBytes.EndRequest }));
        Assert.Equal(isByEndRequest ? 0 : 1, _rig.Transport.CloseCount);
    }

    /// <summary>
    /// A web server that reuses an id has received the response before, whatever the system or the thread that has sent
    /// it knows. END_REQUEST would look like the end of the response.
    /// </summary>
    [Theory, Values(false, true)]
    public void Cut_IdIsReused_IsByReset(bool isSending)
    {
        _rig.Transport.Holds = isSending;
        _rig.Begin(1).Finish();
        _rig.Begin(1);
        _ = _rig.Response.Writer.FlushAsync().AsTask();
        _rig.Transport.Undelivered = 1_000;

        _rig.Response.Cut();

        Assert.DoesNotContain(_rig.Transport.Records.Skip(3), static record => record.Type == RecordBytes.EndRequest);
        Assert.Equal(1, _rig.Transport.CloseCount);
    }

    /// <summary>The response to another id that waits when a request begins is not known to have arrived.</summary>
    [Fact]
    public void Cut_IdIsReusedWhileAnotherResponseWaits_IsByEndRequest()
    {
        _rig.Occupy();
        _rig.Begin(1).Finish();
        _rig.Begin(2).Finish();
        _rig.Begin(2);
        Complete();
        Complete();
        _rig.Transport.Undelivered = 1_000;

        _rig.Response.Cut();

        Assert.Equal(0, _rig.Transport.CloseCount);
    }

    [Fact]
    public void WriteControl_AfterTheClose_KeepsNoMemory()
    {
        _rig.Transport.Holds = false;
        _rig.Connection.OnClosed(new IOException());

        _rig.Occupy();

        Assert.Equal(0, _rig.RentedCount);
    }

    private FastCgiRequest Begin(int id)
    {
        _rig.Begin(id);
        return _rig.Request;
    }

    private static void Write(FastCgiResponse response, int length)
        => _ = response.Writer.WriteAsync(new byte[length]).AsTask();

    private IEnumerable<int> LastIds() => _rig.Transport.Last.Where(static record => record.Type == RecordBytes.Stdout)
        .Select(static record => record.Id);

    private void Complete() => _rig.Transport.Complete();

    /// <summary>Begins a response, whose header block is sent or queued.</summary>
    private FastCgiResponse BeginAndFlushHead(int id)
    {
        var response = _rig.Begin(id);
        _ = response.Writer.FlushAsync().AsTask();
        return response;
    }

    /// <summary>Counts the steps during a send: at other times, nothing waits for the peer.</summary>
    private long CountSteps()
    {
        _rig.Transport.Holds = true;
        _rig.Occupy();
        var steps = _rig.Locked(scope =>
        {
            Output.GetStall(scope, TimeProvider.System, now: 0);
            return scope.State.Output.SeenProgress.Steps;
        });
        _rig.Transport.Holds = false;
        Complete();
        return steps;
    }
}
