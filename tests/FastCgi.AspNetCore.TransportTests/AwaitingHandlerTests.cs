namespace FastCgi.AspNetCore.TransportTests;

/// <summary>Handlers that await: they end on the thread pool, so those that are known to begin there too.</summary>
public sealed class AwaitingHandlerTests
{
    // The loop learns behind the answer, so that a request or two more may begin there.
    private const int MaxLessons = 100;

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handler_ThatAwaits_SoonBeginsOnTheThreadPool(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(setup, static app =>
        {
            app.MapGet("/awaits", static async () =>
            {
                var began = WhereItRuns();
                await Task.Yield();
                return began;
            });
            app.MapGet("/returns/{number}", WhereItRuns);
        });
        using var connection = await server.ConnectAsync();

        var lessons = 0;
        while (await connection.GetAsync("/awaits") != "pool")
            Assert.InRange(++lessons, 1, MaxLessons);

        // One path of some thousand shares the place of the other.
        string[] others = [await connection.GetAsync("/returns/1"), await connection.GetAsync("/returns/2"), await connection.GetAsync("/returns/3")];
        Assert.Contains("loop", others);
    }

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Handler_ThatAwaitsAndThenBlocks_SoonBeginsOnAThreadOfItsOwn(TransportSetup setup)
    {
        using var never = new ManualResetEventSlim();
        var blocks = false;
        await using var server = await TransportServer.StartAsync(setup, app => app.MapGet("/", async () =>
        {
            var began = WhereItRuns();
            if (Volatile.Read(ref blocks))
                never.Wait(TimeSpan.FromMilliseconds(5));
            await Task.Yield();
            return began;
        }));
        using var connection = await server.ConnectAsync();
        var lessons = 0;
        while (await connection.GetAsync("/") != "pool")
            Assert.InRange(++lessons, 1, MaxLessons);

        Volatile.Write(ref blocks, true);

        lessons = 0;
        while (await connection.GetAsync("/") == "pool")
            Assert.InRange(++lessons, 1, MaxLessons);
    }

    private static string WhereItRuns() => Thread.CurrentThread.IsThreadPoolThread ? "pool" : "loop";
}
