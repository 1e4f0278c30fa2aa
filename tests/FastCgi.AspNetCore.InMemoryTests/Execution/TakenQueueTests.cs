namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>Requests queued after a call, when the queue is taken from its thread.</summary>
public sealed class TakenQueueTests
{
    [Fact]
    public async Task Report_AfterTheLastRequestOfItsReceive_IsMadeAlthoughTheHandlerBlocks()
    {
        using var release = new ManualResetEventSlim();
        var begun = Waiting.Signal();
        await using var frontEnd = await TestServer.ConnectAsync(
            context =>
            {
                begun.SetResult();
                Assert.True(release.Wait(TimeSpan.FromSeconds(20)));
                return Apps.Hello(context);
            },
            static options => options.Transport.ApplicationScheduling = FastCgiApplicationScheduling.Auto);

        var sending = Task.Run(() => frontEnd.Send(RecordBytes.Get(), RecordBytes.Begin(2, role: 2)));
        await begun.Task.Within("the handler");
        await Waiting.UntilAsync(
            () =>
            {
                frontEnd.Server.Scheduler.Watchdog.Sample();
                return frontEnd.Server.Logs.Named("RoleNotServed").Count > 0;
            },
            "the report");

        release.Set();
        await sending.Within("the receive");
    }
}
