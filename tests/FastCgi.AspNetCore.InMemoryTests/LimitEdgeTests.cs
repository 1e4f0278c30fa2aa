namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Each limit that has no class of its own: one less, the limit, one more. Others are in <see cref="ParamsTests"/>,
/// <see cref="TimeoutTests"/>, <see cref="BodyDataRateTests"/>, <see cref="OverloadTests"/>, <see
/// cref="ConnectionEndTests"/> (the drain), <see cref="StderrTests"/> and WorkerPoolTests (the threads).
/// </summary>
public class LimitEdgeTests
{
    [Fact]
    public async Task Times_TheLongest_ServerStartsServesAndStops()
    {
        var times = typeof(FastCgiServerLimits).GetProperties().Where(
            static one => one.PropertyType == typeof(TimeSpan) || one.PropertyType == typeof(TimeSpan?)).ToList();
        Assert.NotEmpty(times);
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello, options =>
        {
            times.ForEach(time => time.SetValue(options.Limits, TimeSpan.MaxValue));
            (options.IdleExit, options.SlowRequestThreshold) = (TimeSpan.MaxValue, TimeSpan.MaxValue);
        });
        var halfOpen = frontEnd.Server.Connect();
        halfOpen.Send(RecordBytes.Begin());

        frontEnd.Server.Clock.Advance(TimeSpan.FromDays(1));
        Assert.Equal("Hello", (await frontEnd.AskAsync()).Text);
        frontEnd.Server.Clock.Advance(TimeSpan.FromDays(1));
        Assert.Empty(halfOpen.ReadAvailable());

        // The server waits for the end of the body.
        var upload = frontEnd.Server.Connect();
        upload.Transport.Undelivered = 50_000;
        upload.Send(RecordBytes.PostHead(10, keepConnection: false));
        Assert.Equal("Hello", (await upload.ReadResponseAsync()).Text);
        frontEnd.Server.Clock.Advance(TimeSpan.FromDays(1));
        Assert.False(upload.Transport.IsReset);

        using var time = new CancellationTokenSource();
        var stopping = frontEnd.Server.StopAsync(time.Token);
        frontEnd.Server.Clock.Advance(TimeSpan.FromDays(1));
        Assert.False(frontEnd.Transport.IsClosed);
        await time.CancelAsync();
        await stopping.Within("the stop");
    }

    [Theory]
    [InlineData("post99/hash+stdin99+stdin 200")]
    [InlineData("post100/hash+stdin100+stdin 200")]
    [InlineData("post101/hash 413")]
    [InlineData("post101/hash+stdin101+stdin 413")]
    // The length is not declared.
    [InlineData("post/hash stdin99 silent stdin 200")]
    [InlineData("post/hash stdin99 silent stdin1 silent stdin 200")]
    [InlineData("post/hash stdin99 silent stdin1 silent stdin1 413")]
    public Task MaxRequestBodySize_DeclaredOrCounted(string script)
        => Script.PlayAsync(script, static limits => limits.MaxRequestBodySize = 100, expects: "ApplicationError");

    [Theory]
    [InlineData(999, false)]
    [InlineData(1_000, false)]
    [InlineData(1_001, true)]
    [Contract("E12")]
    public async Task MaxRequestBufferSize_UnreadThenRead_PausesAndResumes(int unread, bool isPaused)
    {
        var go = Waiting.Signal();
        var step = Waiting.Signal();
        var finish = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                await go.Task;
                // One byte: what is left fits.
                var reader = context.Request.BodyReader;
                var result = await reader.ReadAsync();
                reader.AdvanceTo(result.Buffer.GetPosition(1));
                step.SetResult();
                await finish.Task;
                await Apps.BodyHash(context);
            },
            static options => options.Limits.MaxRequestBufferSize = 1_000);

        frontEnd.Send(RecordBytes.PostHead(5_000), RecordBytes.Record(RecordBytes.Stdin, 1, new byte[unread]));

        Assert.Equal(isPaused, frontEnd.IsPaused);
        go.SetResult();
        await step.Task.Within("the read");
        Assert.Equal(isPaused ? 1 : 0, frontEnd.Transport.ResumeCount);
        finish.SetResult();
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, new byte[5_000 - unread]));
        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
    }
}
