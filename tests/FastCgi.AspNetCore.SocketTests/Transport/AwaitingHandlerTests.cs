using System.Text;

namespace FastCgi.AspNetCore.SocketTests.Transport;

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
                // Not the event itself, which looks out for a while: on a busy machine its time is over before it has slept.
                never.WaitHandle.WaitOne(5);
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

    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Handler_ThatGoesOnBehindItsResponse_KeepsNobodyWaiting(TransportSetup setup)
    {
        const int Requests = 50;
        var finish = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            await Task.Yield();
            response.ContentLength = 5;
            await response.WriteAsync("hello");
            await finish.Task;
        }));

        // So many at once that flushes are held for the ends of their responses, which do not come.
        var connections = await Task.WhenAll(Enumerable.Range(0, Requests).Select(_ => server.ConnectAsync()));
        foreach (var connection in connections)
            await connection.SendAsync(RecordBytes.Get());
        foreach (var connection in connections)
            Assert.EndsWith("hello", Encoding.ASCII.GetString((await connection.ReadRecordAsync())!.Content), StringComparison.Ordinal);

        finish.SetResult();
        foreach (var connection in connections)
        {
            Assert.Empty((await connection.ReadRecordAsync())!.Content);
            connection.Dispose();
        }
    }

    private static string WhereItRuns() => Thread.CurrentThread.IsThreadPoolThread ? "pool" : "loop";
}
