namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>A slow request is logged once, while it runs, with what it waits for; and the log of records.</summary>
public sealed class SlowRequestTests
{
    private static readonly TimeSpan s_threshold = TimeSpan.FromSeconds(3);

    [Theory]
    [InlineData("/wait?secret", "in the application")]
    [InlineData("/body", "waiting for the body")]
    [InlineData("/write", "waiting for the web server to accept the response")]
    public async Task Request_Slow_IsLoggedOnceWithItsActivity(string uri, string activity)
    {
        var go = Waiting.Signal<bool>();
        await using var frontEnd = await TestServer.ConnectAsync(
            async context =>
            {
                if (context.Request.Path == "/wait")
                    await go.Task;
                else if (context.Request.Path == "/body")
                    _ = await context.Request.Body.ReadAsync(new byte[10]);
                else
                    await context.Response.Body.WriteAsync(new byte[1_000_000]);
            },
            static options => options.SlowRequestThreshold = s_threshold);
        if (uri == "/write")
            frontEnd.Transport.HoldSends();
        frontEnd.Send(RecordBytes.PostHead(3, uri: uri));

        frontEnd.Server.Clock.Advance(s_threshold - TimeSpan.FromSeconds(1));
        Assert.Empty(Reports(frontEnd.Server));
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(1));
        frontEnd.Server.Clock.Advance(TimeSpan.FromSeconds(10));

        var report = Assert.Single(Reports(frontEnd.Server));
        Assert.Equal(LogLevel.Warning, report.Level);
        Assert.Contains($"is {activity} (", report.Message);
        Assert.Contains("from 192.0.2.7", report.Message);
        Assert.DoesNotContain("secret", report.Message);
        go.SetResult(true);
        if (uri == "/write")
        {
            frontEnd.Close();
            return;
        }

        frontEnd.Send(RecordBytes.StdinStream(1, "abc"u8));
        await frontEnd.ReadResponseAsync();
    }

    [Fact]
    public async Task Requests_ManySlow_AreOnlyCountedBeyondAHundredAMinute()
    {
        var go = Waiting.Signal<bool>();
        await using var server = await TestServer.StartAsync(
            async _ => await go.Task, static options => options.SlowRequestThreshold = s_threshold);
        for (var i = 0; i < 130; i++)
            server.Connect().Send(RecordBytes.Get());

        server.Clock.Advance(s_threshold);
        Assert.Equal(100, Reports(server).Count());

        server.Clock.Advance(TimeSpan.FromMinutes(1));
        server.Connect().Send(RecordBytes.Get());
        server.Clock.Advance(s_threshold);
        Assert.Contains(
            "not logged since the last such message: 30.",
            Assert.Single(Reports(server).Skip(100)).Message);
        go.SetResult(true);
    }

    [Fact]
    public async Task Requests_WithoutThreshold_AreNotLogged()
    {
        var go = Waiting.Signal<bool>();
        await using var frontEnd = await TestServer.ConnectAsync(async _ => await go.Task);
        frontEnd.Send(RecordBytes.Get());

        frontEnd.Server.Clock.Advance(TimeSpan.FromHours(1));

        Assert.Empty(Reports(frontEnd.Server));
        go.SetResult(true);
        await frontEnd.ReadResponseAsync();
    }

    private static IEnumerable<CollectedLog> Reports(TestServer server)
        => server.Logs.Named("SlowRequest");
}
