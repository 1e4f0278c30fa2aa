namespace FastCgi.AspNetCore.InMemoryTests;

public class IdleExitTests
{
    private static readonly TimeSpan s_tick = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(5);

    [Fact]
    public async Task IdleExit_NoRequestAtAll_OnceAfterTheTime()
    {
        await using var server = await StartAsync();

        server.Clock.Advance(s_limit - s_tick);
        Assert.Equal(0, server.IdleCount);
        server.Clock.Advance(s_tick);
        Assert.Equal(1, server.IdleCount);
        server.Clock.Advance(s_limit * 2);
        Assert.Equal(1, server.IdleCount);
    }

    [Fact]
    public async Task IdleExit_NoneByDefault_Never()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);

        server.Clock.Advance(s_limit * 2);

        Assert.Equal(0, server.IdleCount);
    }

    [Fact]
    public async Task IdleExit_RequestOnAKeptConnection_TimeBeginsAgain()
    {
        await using var server = await StartAsync();
        var frontEnd = server.Connect();
        await frontEnd.AskAsync();
        server.Clock.Advance(s_limit / 2);
        await frontEnd.AskAsync();

        server.Clock.Advance(s_limit / 2);
        Assert.Equal(0, server.IdleCount);
        server.Clock.Advance(s_limit / 2);
        Assert.Equal(1, server.IdleCount);
    }

    [Fact]
    public async Task IdleExit_KeptConnectionClosedLater_TimeBeginsWithItsLastRequest()
    {
        await using var server = await StartAsync();
        var frontEnd = server.Connect();
        await frontEnd.AskAsync();
        server.Clock.Advance(s_limit / 2);
        frontEnd.Close();

        server.Clock.Advance(s_limit / 2);

        Assert.Equal(1, server.IdleCount);
    }

    /// <summary>No tick has seen it.</summary>
    [Fact]
    public async Task IdleExit_ConnectionOfOneRequest_TimeBeginsAgain()
    {
        await using var server = await StartAsync();
        server.Clock.Advance(s_limit / 2);
        var frontEnd = server.Connect();
        await frontEnd.AskAsync();
        frontEnd.Close();

        server.Clock.Advance(s_limit / 2);
        Assert.Equal(0, server.IdleCount);
        server.Clock.Advance(s_limit / 2);
        Assert.Equal(1, server.IdleCount);
    }

    [Fact]
    public async Task IdleExit_ConnectionWithoutARequest_DoesNotCount()
    {
        await using var server = await StartAsync();
        server.Clock.Advance(s_limit / 2);
        server.Connect().Close();

        server.Clock.Advance(s_limit / 2);

        Assert.Equal(1, server.IdleCount);
    }

    [Fact]
    public async Task IdleExit_WhileARequestRuns_Not()
    {
        var go = Waiting.Signal();
        await using var server = await StartAsync(go.Task);
        var frontEnd = server.Connect();
        frontEnd.Send(RecordBytes.Get());

        server.Clock.Advance(s_limit * 2);
        Assert.Equal(0, server.IdleCount);
        go.SetResult();
        await frontEnd.ReadResponseAsync();
        server.Clock.Advance(s_limit - s_tick);
        Assert.Equal(0, server.IdleCount);
        server.Clock.Advance(s_tick);
        Assert.Equal(1, server.IdleCount);
    }

    private static Task<TestServer> StartAsync(Task? go = null) => TestServer.StartAsync(
        async context =>
        {
            await (go ?? Task.CompletedTask);
            await Apps.Hello(context);
        },
        static options => options.IdleExit = s_limit);
}
