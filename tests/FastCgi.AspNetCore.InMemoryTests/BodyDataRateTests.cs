using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using MinDataRate = Microsoft.AspNetCore.Server.Kestrel.Core.MinDataRate;

namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A body must arrive at MinRequestBodyDataRate while the application waits for it.</summary>
public class BodyDataRateTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_grace = TimeSpan.FromSeconds(5);
    private static readonly MinDataRate s_rate = new(100, s_grace);

    /// <summary>The rest of a body that is too slow is discarded, and the connection stays usable.</summary>
    [Theory]
    [InlineData("post1000/hash 5s silent 1s 408 stdin10+stdin+post3:2/hash+stdin3:2+stdin:2 2:200", 1)]
    [InlineData("post1000/hash+stdin599 5s silent 1s 408 stdin10+stdin+post3:2/hash+stdin3:2+stdin:2 2:200", 1)]
    [InlineData("post1000/hash+stdin600 5s silent 1s silent stdin400+stdin 200", 0)]
    [InlineData("post1000/hash+stdin601 5s silent 1s silent stdin399+stdin 200", 0)]
    [InlineData("get:7/slow+post1000:8/hash post10000:9/hash+stdin700:9 6s 8:408 go 7:200 stdin9300:9 9:200", 1)]
    public Task Body_AtTheRate_Decides(string script, int tooSlow) => Script.PlayAsync(
        script,
        static limits => limits.MinRequestBodyDataRate = s_rate,
        expects: "ApplicationError",
        server =>
        {
            Assert.Equal(
                Enumerable.Repeat((RequestRejection.RequestBodyTimeout, 1L), tooSlow),
                server.Context.Counters.RejectedRequests.Select(static count => (count.Key, count.Value)));
            Assert.Equal(
                Enumerable.Repeat(LogLevel.Debug, tooSlow),
                server.Logs.Named("RequestBodyTooSlow").Select(static log => log.Level));
        });

    [Theory, Values("stream", "reader", "at least")]
    public async Task Body_TooSlow_EachKindOfReadFails(string how)
    {
        var failure = Waiting.Signal<BadHttpRequestException>();
        await using var frontEnd = await StartAsync(async context =>
        {
            try
            {
                _ = how switch
                {
                    "stream" => await context.Request.Body.ReadAsync(new byte[1]),
                    "reader" => (await context.Request.BodyReader.ReadAsync()).Buffer.Length,
                    _ => (await context.Request.BodyReader.ReadAtLeastAsync(10)).Buffer.Length,
                };
            }
            catch (BadHttpRequestException exception)
            {
                failure.SetResult(exception);
                await context.Response.WriteAsync("caught");
            }
        });
        frontEnd.Send(RecordBytes.PostHead(1_000));

        frontEnd.Server.Clock.Advance(s_grace + s_tick);

        var failed = await failure.Task.Within("the failure");
        Assert.Equal(
            (408, "Reading the request body timed out due to data arriving too slowly. See MinRequestBodyDataRate."),
            (failed.StatusCode, failed.Message));
        Assert.Equal("caught", (await frontEnd.ReadResponseAsync()).Text);
    }

    [Fact]
    public async Task Time_WithoutAPendingRead_DoesNotCount()
    {
        var go = Waiting.Signal();
        var waits = Waiting.Signal();
        await using var frontEnd = await StartAsync(async context =>
        {
            var reader = context.Request.BodyReader;
            await go.Task;
            var there = await reader.ReadAsync();
            reader.AdvanceTo(there.Buffer.End);
            var next = reader.ReadAsync().AsTask();
            waits.SetResult();
            await next;
        });
        frontEnd.Send(RecordBytes.PostHead(1_000), Piece(1, 10));

        frontEnd.Server.Clock.Advance(TimeSpan.FromHours(1));
        go.SetResult();
        await waits.Task.Within("the second read");
        frontEnd.Server.Clock.Advance(s_grace);
        AssertNoneIsTooSlow(frontEnd.Server);
        frontEnd.Server.Clock.Advance(s_tick);

        Assert.Equal(408, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public Task Time_InWhichReceivingIsPaused_DoesNotCount() => Script.PlayAsync(
        "post1000/hash+post3000:2/slow-hash+stdin2000:2 paused 5m silent go resumed 6s 408",
        static limits =>
        {
            limits.MinRequestBodyDataRate = s_rate;
            limits.MaxRequestBufferSize = 1_000;
            limits.UnreadBodyTimeout = TimeSpan.FromDays(1);
        },
        expects: "ApplicationError");

    [Theory, Values(false, true)]
    public async Task Feature_SetByTheApplication_CountsForItsRequest(bool isConfigured)
    {
        await using var frontEnd = await StartAsync(
            async context =>
            {
                var feature = context.Features.Get<IHttpMinRequestBodyDataRateFeature>()!;
                Assert.Same(isConfigured ? s_rate : null, feature.MinDataRate);
                if (context.Request.Path == "/other")
                {
                    feature.MinDataRate = isConfigured ? null : s_rate;
                    Assert.Same(isConfigured ? null : s_rate, feature.MinDataRate);
                }

                await Apps.BodyHash(context);
            },
            options => options.Limits.MinRequestBodyDataRate = isConfigured ? s_rate : null);
        var (plain, other) = (frontEnd, frontEnd.Server.Connect());
        var (slow, patient) = isConfigured ? (plain, other) : (other, plain);
        for (var i = 0; i < 20; i++)
        {
            plain.Send(RecordBytes.PostHead(1_000));
            other.Send(RecordBytes.PostHead(1_000, uri: "/other"));
            frontEnd.Server.Clock.Advance(s_grace + s_tick);

            Assert.Equal(408, (await slow.ReadResponseAsync()).Status);
            frontEnd.Server.Clock.Advance(TimeSpan.FromMinutes(10));
            patient.Send(Piece(1, 1_000));
            Assert.Equal(200, (await patient.ReadResponseAsync()).Status);
        }
    }

    private static Task<FrontEnd> StartAsync(
        RequestDelegate application, Action<FastCgiServerOptions>? configure = null)
        => TestServer.ConnectAsync(
            application,
            options =>
            {
                options.Limits.MinRequestBodyDataRate = s_rate;
                configure?.Invoke(options);
            },
            expects: "ApplicationError");

    /// <summary>Counted in the same step, while the answer may be on its way.</summary>
    private static void AssertNoneIsTooSlow(TestServer server)
        => Assert.Empty(server.Context.Counters.RejectedRequests);

    private static byte[] Piece(int id, int length)
        => length == 0 ? [] : RecordBytes.Record(RecordBytes.Stdin, id, new byte[length]);
}
