namespace FastCgi.AspNetCore.InMemoryTests.Execution;

/// <summary>A request for which the application is not called, because it is refused or was aborted, tells nothing of the application.</summary>
public sealed class UncalledRequestTests : SchedulerTest
{
    [Fact]
    public void Execute_AbortedWhileItWaited_NothingIsLearnt()
    {
        var path = new PathKey("/");
        Scheduler.Predictor.OnStalled(path);

        for (var id = 1; id <= 3; id++)
        {
            var request = Receive(RecordBytes.Get(id)).RemoveFirst();
            FrontEnd.Send(RecordBytes.Abort(id));
            Scheduler.Predictor.Execute(request, TimeSpan.Zero);
        }

        Assert.True(Scheduler.Predictor.KeepsThread(path));
        Assert.False(Scheduler.Predictor.KeepsThread(default));
    }

    [Theory, Values(false, true)]
    public async Task Run_BeforeTheFirstRequest_ThatStillRunsAlone(bool isAborted)
    {
        var called = new List<string>();
        Application = context =>
        {
            called.Add(context.Request.Path.Value!);
            if (context.Request.Path == "/first")
                Run(Scheduler, new TestQueue(), RecordBytes.Get(3, "/second"));
            return Task.CompletedTask;
        };

        // Without a method it is refused.
        if (isAborted)
            Run(Scheduler, [.. RecordBytes.Get(1), .. RecordBytes.Abort(1)]);
        else
            Run(Scheduler, RecordBytes.Get(1, method: string.Empty));
        Run(Scheduler, RecordBytes.Get(2, "/first"));

        var alone = called.ToList();
        Step();
        await Waiting.UntilAsync(() => FrontEnd.Transport.Connection.RequestCount == 0, "all answers");
        Assert.Equal(["/first"], alone);
        Assert.Equal(["/first", "/second"], called);
    }
}
