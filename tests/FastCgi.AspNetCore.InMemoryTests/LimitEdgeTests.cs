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

    private static async Task<TestServer> StartAsync(RequestDelegate application, Action<FastCgiServerLimits> configure)
    {
        var server = await TestServer.StartAsync(application, options => configure(options.Limits));
        server.Logs.Expected.Add("ApplicationError");
        return server;
    }

    private static byte[] Head(int id, string length)
        => [.. RecordBytes.Begin(id), .. RecordBytes.ParamsStream(id, RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", length)))];
}
