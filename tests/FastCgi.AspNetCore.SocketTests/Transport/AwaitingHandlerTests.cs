namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Handlers that await, and continue after their response.</summary>
public sealed class AwaitingHandlerTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Handler_ContinuesAfterItsResponse_DelaysNoOther(TransportSetup setup)
    {
        const int Requests = 50;
        var finish = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup, app => app.MapGet("/", async (HttpResponse response) =>
            {
                await Task.Yield();
                response.ContentLength = 5;
                await response.WriteAsync("hello");
                await finish.Task;
            }));

        // Enough concurrent requests that flushes are held for the ends of their responses, which do not come.
        var connections = await Task.WhenAll(Enumerable.Range(0, Requests).Select(_ => server.ConnectAsync()));
        foreach (var connection in connections)
            await connection.SendAsync(RecordBytes.Get());
        foreach (var connection in connections)
            Assert.EndsWith("hello", Encoding.ASCII.GetString((await connection.ReadRecordAsync())!.Content));

        finish.SetResult();
        foreach (var connection in connections)
        {
            Assert.Empty((await connection.ReadRecordAsync())!.Content);
            connection.Dispose();
        }
    }
}
