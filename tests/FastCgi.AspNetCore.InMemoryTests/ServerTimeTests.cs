namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>The server goes by its own clock, and a process that is paused times nothing out.</summary>
public sealed class ServerTimeTests
{
    private static readonly TimeSpan s_pause = TimeSpan.FromHours(2);

    [Fact]
    public async Task TimeProvider_OfTheApplication_IsNotTheServers()
    {
        await using var run = await ServerRun.StartAsync(
            static context => Apps.BodyHash(context),
            static options => options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(5),
            services => services.AddSingleton<TimeProvider>(new ForbiddenTime()));
        var (frontEnd, halfOpen) = (run.Connect(), run.Connect());
        halfOpen.Send(RecordBytes.Begin());

        Assert.Equal(200, (await frontEnd.AskAsync(RecordBytes.Post(1, "/", "abc"u8.ToArray()))).Status);
        Assert.Empty(halfOpen.ReadAvailable());
        run.Clock.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal(408, (await halfOpen.ReadResponseAsync()).Status);
    }

    /// <summary>
    /// Params, the body, a send, a drain, a request in the queue, and one that is idle: all of them were under way
    /// before the pause.
    /// </summary>
    [Fact]
    public async Task Pause_OfTheProcess_TimesNothingOut()
    {
        var go = Waiting.Signal();
        await using var server = await TestServer.StartAsync(
            Apps.After(go.Task, Apps.BodyHash, path: "/slow"),
            static options =>
            {
                options.Limits.MaxConcurrentRequests = 2;
                options.Limits.RequestQueueLimit = 5;
                options.Limits.RequestQueueTimeout = TimeSpan.FromSeconds(10);
                options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(10);
                options.Limits.KeepAliveTimeout = TimeSpan.FromSeconds(10);
                options.Limits.SendTimeout = TimeSpan.FromSeconds(10);
                options.Limits.LingerTimeout = TimeSpan.FromSeconds(10);
                options.Limits.MinRequestBodyDataRate = new(bytesPerSecond: 100, gracePeriod: TimeSpan.FromSeconds(10));
            });
        var (idle, halfOpen, draining, unsent, slow, body, queued) =
            (server.Connect(), server.Connect(), server.Connect(), server.Connect(),
                server.Connect(), server.Connect(), server.Connect());
        await idle.AskAsync();
        unsent.Transport.HoldSends();
        unsent.Send(RecordBytes.Get());
        draining.Send(RecordBytes.Post(1, "/", new byte[10], keepConnection: false).AsSpan()[..^16].ToArray());
        slow.Send(RecordBytes.Get(uri: "/slow"));
        body.Send(RecordBytes.PostHead(3));
        queued.Send(RecordBytes.Get());
        halfOpen.Send(RecordBytes.Begin());
        server.Clock.Advance(TimeSpan.FromSeconds(5));

        server.Clock.Pause(s_pause);
        server.Clock.Advance(TimeSpan.FromSeconds(2));

        Assert.All(
            [idle, halfOpen, unsent, slow, body, queued],
            static frontEnd => Assert.False(frontEnd.Transport.IsReset || frontEnd.Transport.IsClosed));
        Assert.False(draining.Transport.IsReset);
        halfOpen.Send(RecordBytes.Get().AsSpan()[16..].ToArray());
        body.Send(RecordBytes.StdinStream(1, "abc"u8));
        go.SetResult();
        unsent.Transport.ReleaseSend(continues: false);
        foreach (var frontEnd in new[] { slow, body, queued, halfOpen, unsent })
            Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
        Assert.Equal(200, (await idle.AskAsync()).Status);
    }

    private sealed class ForbiddenTime : TimeProvider
    {
        public override long GetTimestamp() => throw new InvalidOperationException("on purpose");

        public override DateTimeOffset GetUtcNow() => throw new InvalidOperationException("on purpose");

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
            => throw new InvalidOperationException("on purpose");
    }
}
