using FastCgi.AspNetCore.Connections;
using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Xunit;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// Each limit that has no class of its own: one less, the limit, one more. Others are in <see cref="ParamsTests"/>, <see cref="TimeoutTests"/>,
/// <see cref="BodyDataRateTests"/>, <see cref="OverloadTests"/>, <see cref="ConnectionBoundTests"/> (the drain), <see cref="StderrTests"/>
/// and WorkerPoolLimitTests (the threads).
/// </summary>
public class LimitEdgeTests
{
    /// <summary>The longest time is none that a sum could pass: the server starts, answers, goes by its clock and stops.</summary>
    [Fact]
    public async Task Times_TheLongest_ServerStartsServesAndStops()
    {
        var times = typeof(FastCgiServerLimits).GetProperties().Where(static one => one.PropertyType == typeof(TimeSpan) || one.PropertyType == typeof(TimeSpan?)).ToList();
        Assert.NotEmpty(times);
        await using var server = await TestServer.StartAsync(Apps.Hello, options =>
        {
            times.ForEach(time => time.SetValue(options.Limits, TimeSpan.MaxValue));
            (options.IdleExit, options.SlowRequestThreshold) = (TimeSpan.MaxValue, TimeSpan.MaxValue);
        });
        var frontEnd = server.Connect();
        var halfOpen = server.Connect();
        halfOpen.Send(RecordBytes.Begin());

        server.Clock.Advance(TimeSpan.FromDays(1));
        frontEnd.Send(RecordBytes.Get());
        Assert.Equal("Hello", (await frontEnd.ReadResponseAsync()).Text);
        server.Clock.Advance(TimeSpan.FromDays(1));
        Assert.Empty(halfOpen.ReadAvailable());

        using var time = new CancellationTokenSource();
        var stopping = server.StopAsync(time.Token);
        server.Clock.Advance(TimeSpan.FromDays(1));
        Assert.False(frontEnd.Transport.IsClosed);
        await time.CancelAsync();
        await stopping.Within("the stop");
    }

    /// <summary>What is declared too long is refused before any of it has come.</summary>
    [Theory]
    [InlineData(99, 99, 200)]
    [InlineData(100, 100, 200)]
    [InlineData(101, 0, 413)]
    [InlineData(101, 101, 413)]
    public async Task MaxRequestBodySize_Declared(int declared, int sent, int status)
    {
        await using var server = await StartAsync(Apps.BodyHash, static limits => limits.MaxRequestBodySize = 100);
        var frontEnd = server.Connect();

        frontEnd.Send(Head(1, $"{declared}"), sent == 0 ? [] : RecordBytes.StdinStream(1, new byte[sent]));

        Assert.Equal(status, (await frontEnd.ReadResponseAsync()).Status);
    }

    /// <summary>What is not declared is refused with the first byte that is too many, though the end has not come.</summary>
    [Theory]
    [InlineData(99, 200)]
    [InlineData(100, 200)]
    [InlineData(101, 413)]
    public async Task MaxRequestBodySize_Counted(int sent, int status)
    {
        await using var server = await StartAsync(Apps.BodyHash, static limits => limits.MaxRequestBodySize = 100);
        var frontEnd = server.Connect();
        frontEnd.Send(Head(1, ""));

        for (var i = 0; i < sent; i++)
        {
            Assert.Empty(frontEnd.ReadAvailable());
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, [1]));
        }

        if (status == 200)
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1));
        Assert.Equal(status, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData(0, 200)]
    [InlineData(1, 413)]
    public async Task MaxRequestBodySize_Zero(int declared, int status)
    {
        await using var server = await StartAsync(Apps.BodyHash, static limits => limits.MaxRequestBodySize = 0);
        var frontEnd = server.Connect();

        frontEnd.Send(RecordBytes.Post(1, "/", new byte[declared]));

        Assert.Equal(status, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData(2, 200)]
    [InlineData(3, 200)]
    [InlineData(4, 503)]
    public async Task MaxRequestsPerConnection_AtATime(int count, int status)
    {
        var go = Waiting.Signal();
        await using var server = await StartAsync(Apps.HelloAfter(go.Task), static limits => limits.MaxRequestsPerConnection = 3);
        var frontEnd = server.Connect();

        for (var id = 1; id <= count; id++)
            frontEnd.Send(RecordBytes.Get(id));

        if (status != 200)
            Assert.Equal(status, (await frontEnd.ReadResponseAsync(count)).Status);
        Assert.Empty(frontEnd.ReadAvailable());
        Assert.Equal(Math.Min(count, 3), frontEnd.Transport.Connection.RequestCount);
        go.SetResult();
        await Waiting.UntilAsync(() => server.Connections.CountRequests() == 0, "the requests to end");
    }

    /// <summary>Requests whose params have not come are kept up to twice the limit; further ones are ended without an answer.</summary>
    [Theory]
    [InlineData(5, 0)]
    [InlineData(6, 0)]
    [InlineData(7, 1)]
    public async Task HalfOpenRequests_TwiceTheLimit(int count, int ended)
    {
        await using var server = await StartAsync(Apps.Hello, static limits => limits.MaxRequestsPerConnection = 3);
        var frontEnd = server.Connect();

        for (var id = 1; id <= count; id++)
            frontEnd.Send(RecordBytes.Begin(id));

        Assert.Equal(ended, frontEnd.ReadAvailable().Count);
    }

    /// <summary>Requests that were aborted while their application goes on: a hundred of them, then the next is refused.</summary>
    [Theory]
    [InlineData(99, 200)]
    [InlineData(100, 503)]
    [InlineData(101, 503)]
    public async Task LingeringRequests_AHundred(int count, int status)
    {
        var go = Waiting.Signal();
        await using var server = await StartAsync(
            context => context.Request.Path == "/stay" ? Apps.HelloAfter(go.Task)(context) : Apps.Hello(context), static _ => { });
        var frontEnd = server.Connect();
        for (var i = 0; i < count; i++)
        {
            frontEnd.Send(RecordBytes.Get(1, "/stay"));
            frontEnd.Send(RecordBytes.Abort());
        }

        frontEnd.ReadAvailable();

        frontEnd.Send(RecordBytes.Get(2));

        Assert.Equal(status, (await frontEnd.ReadResponseAsync(2)).Status);
        go.SetResult();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public async Task MaxConcurrentConnections_Open(int count)
    {
        await using var server = await StartAsync(Apps.Hello, static limits => limits.MaxConcurrentConnections = 2);
        for (var i = 1; i <= Math.Min(count, 2); i++)
            server.Connect();
        if (count > 2)
            Assert.False(server.Connections.TryAdd(new FastCgiConnection(server.Connections, new MemoryTransport())));

        Assert.Equal(Math.Min(count, 2), server.Connections.Count);
        Assert.Equal(Math.Max(0, count - 2), server.Context.Counters.RejectedConnections);
    }

    [Theory]
    [InlineData(1, 0, 200)]
    [InlineData(2, 0, 200)]
    [InlineData(3, 0, 503)]
    [InlineData(3, 1, 200)]
    [InlineData(4, 1, 503)]
    public async Task MaxConcurrentRequests_AndTheQueue(int count, int queue, int status)
    {
        var go = Waiting.Signal();
        await using var server = await StartAsync(
            Apps.HelloAfter(go.Task), limits => (limits.MaxConcurrentRequests, limits.RequestQueueLimit) = (2, queue));
        var frontEnds = Enumerable.Range(0, count).Select(_ => server.Connect()).ToList();

        foreach (var frontEnd in frontEnds)
            frontEnd.Send(RecordBytes.Get());
        if (status != 200)
            Assert.Equal(status, (await frontEnds[^1].ReadResponseAsync()).Status);
        Assert.All(frontEnds, static frontEnd => Assert.Empty(frontEnd.ReadAvailable()));

        go.SetResult();
        foreach (var frontEnd in frontEnds.Take(2 + queue))
            Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData(999, false)]
    [InlineData(1_000, false)]
    [InlineData(1_001, true)]
    public async Task MaxRequestBufferSize_UnreadThenRead_PausesAndResumes(int unread, bool isPaused)
    {
        var go = Waiting.Signal();
        var step = Waiting.Signal();
        var finish = Waiting.Signal();
        await using var server = await StartAsync(
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
            static limits => limits.MaxRequestBufferSize = 1_000);
        var frontEnd = server.Connect();

        frontEnd.Send(Head(1, "5000"), RecordBytes.Record(RecordBytes.Stdin, 1, new byte[unread]));

        Assert.Equal(isPaused, frontEnd.IsPaused);
        go.SetResult();
        await step.Task.Within("the read");
        Assert.Equal(isPaused ? 1 : 0, frontEnd.Transport.ResumeCount);
        finish.SetResult();
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, new byte[5_000 - unread]));
        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Theory]
    [InlineData(-1, true)]
    [InlineData(0, false)]
    [InlineData(1, false)]
    public async Task MaxResponseBufferSize_Queued_WriteWaits(int excess, bool isComplete)
    {
        const int Limit = 1_000, RecordHeader = 8;
        FrontEnd frontEnd = null!;
        var seen = Waiting.Signal<bool>();
        var length = 0;
        await using var server = await StartAsync(
            async context =>
            {
                context.Features.GetRequiredFeature<IHttpResponseBodyFeature>().DisableBuffering();
                // Carried by the send that does not end, and held until it does.
                await context.Response.Body.WriteAsync(new byte[1]);
                await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.SendCount == 1, "the first send");
                length = Limit - frontEnd.Transport.Sent.Length - RecordHeader + excess;
                var write = context.Response.Body.WriteAsync(new byte[length]).AsTask();
                seen.SetResult(write.IsCompleted);
                await write;
            },
            static limits => limits.MaxResponseBufferSize = Limit);
        frontEnd = server.Connect();
        frontEnd.Transport.HoldSends();

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(isComplete, await seen.Task.Within("the write"));
        frontEnd.Transport.ReleaseSend(goesOn: false);
        Assert.Equal(length + 1, (await frontEnd.ReadResponseAsync()).Body.Length);
    }

    [Theory]
    [InlineData(4, false)]
    [InlineData(5, true)]
    [InlineData(6, true)]
    public async Task UnreadBodyTimeout_AmongOthers(int seconds, bool isRefused)
    {
        var go = Waiting.Signal();
        await using var server = await StartAsync(
            async context =>
            {
                await go.Task;
                await Apps.BodyHash(context);
            },
            static limits => limits.MaxRequestBufferSize = 1_000);
        var frontEnd = server.Connect();
        frontEnd.Send(Head(1, "5000"), Head(2, "1"), RecordBytes.Record(RecordBytes.Stdin, 1, new byte[2_000]));
        Assert.True(frontEnd.IsPaused);

        server.Clock.Advance(TimeSpan.FromSeconds(seconds));

        Assert.Equal(isRefused ? 1 : 0, frontEnd.Transport.ResumeCount);
        Assert.Equal(isRefused, server.Context.Counters.RejectedRequests.Any(static count => count.Key == (503, "RequestBodyBacklog")));
        go.SetResult();
        if (!isRefused)
        {
            await frontEnd.Transport.WaitUntilAsync(() => frontEnd.Transport.ResumeCount == 1, "receiving to go on");
            frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 1, new byte[3_000]));
        }

        Assert.Equal(isRefused ? 503 : 200, (await frontEnd.ReadResponseAsync(1)).Status);
        frontEnd.Send(RecordBytes.Record(RecordBytes.Stdin, 2, [1]));
        Assert.Equal(200, (await frontEnd.ReadResponseAsync(2)).Status);
    }

    private static async Task<TestServer> StartAsync(RequestDelegate application, Action<FastCgiServerLimits> configure)
    {
        var server = await TestServer.StartAsync(application, options => configure(options.Limits));
        server.Logs.Expected.Add("ApplicationError");
        return server;
    }

    private static byte[] Head(int id, string length)
        => [.. RecordBytes.Begin(id), .. RecordBytes.ParamsStream(id, RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", length)))];
}
