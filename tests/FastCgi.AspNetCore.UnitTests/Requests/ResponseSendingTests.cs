namespace FastCgi.AspNetCore.UnitTests.Requests;

/// <summary>How long a flush waits, for what, and what ends the wait.</summary>
public sealed class ResponseSendingTests
{
    private const int FullContent = 65_528;

    private readonly ResponseRig _rig =
        new() { Transport = { Holds = true }, Options = { Limits = { MaxResponseBufferSize = 1_000 } } };

    private FastCgiResponse Response => _rig.Response;

    [Theory]
    [InlineData(999, true)]
    [InlineData(1_000, false)]
    public void Write_Waiting_CompletesBelowTheLimit(int left, bool isDone)
    {
        BeginAndFlushHead();
        var write = _rig.Write(4 * FullContent + left - 8);
        Assert.False(write.IsCompleted);

        // The four large blocks are sent, then what is left.
        _rig.Transport.Complete();
        Assert.False(write.IsCompleted);
        _rig.Transport.Complete();
        Assert.Equal(isDone, write.IsCompleted);
        _rig.Transport.Complete();
        Assert.True(write.IsCompleted);
    }

    [Fact]
    public async Task Flush_ResponseHasEnded_DoesNotWait()
    {
        BeginAndFlushHead();
        bool isHeld;
        using (var scope = _rig.Connection.EnterLock())
        {
            Response.In(scope).Append(new byte[2_000]);
            isHeld = Response.Flush(scope, isLikelyLast: false);
        }

        Response.Finish();

        var send = Response.SendAsync(isHeld, CancellationToken.None);
        Assert.True(send.IsCompletedSuccessfully);
        Assert.True((await send).IsCompleted);
    }

    [Fact]
    public async Task Wait_OfSeveral_EndsForAllOfThem()
    {
        _rig.Begin();
        _rig.Occupy();
        Assert.False(_rig.Locked(scope => _rig.Request.In(scope).Waiter is not null));
        var (first, second) = (_rig.Write(2_000), _rig.Write(2_000));
        using var canceled = new CancellationTokenSource();
        var third = Response.Writer.WriteAsync(new byte[1], canceled.Token).AsTask();
        Assert.False(first.IsCompleted || second.IsCompleted || third.IsCompleted);
        await canceled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => third);
        Assert.True(_rig.Locked(scope => _rig.Request.In(scope).Waiter is not null));

        Response.Finish();
        _rig.Transport.Complete();
        _rig.Transport.Complete();

        await Task.WhenAll(first, second).Within("all that wait");
        Assert.Equal((false, true), ((await first).IsCanceled, (await second).IsCompleted));
        Assert.False(_rig.Locked(scope => _rig.Request.In(scope).Waiter is not null));
    }

    [Fact]
    public async Task Wait_OfAWrite_EndsWhenTheConnectionIsLostAfterTheResponseHasEnded()
    {
        _rig.Begin();
        _rig.Occupy();
        var write = _rig.Write(2_000);
        var complete = Response.CompleteAsync();
        _rig.Transport.Complete();
        _rig.Connection.OnClosed(new IOException("reset"));
        _rig.Transport.Complete();

        await Task.WhenAll(write, complete).Within("both that wait");
    }

    private void BeginAndFlushHead()
    {
        _rig.Begin();
        _ = Response.Writer.FlushAsync().AsTask();
    }
}
