namespace FastCgi.AspNetCore.InMemoryTests;

public class ConnectionListTests
{
    [Theory]
    [InlineData(0, 1, 2)]
    [InlineData(0, 2, 1)]
    [InlineData(1, 0, 2)]
    [InlineData(1, 2, 0)]
    [InlineData(2, 0, 1)]
    [InlineData(2, 1, 0)]
    public async Task Connections_ClosedInAnyOrder_OnlyTheOpenOneIsAborted(params int[] order)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var frontEnds = order.Select(_ => server.Connect()).ToArray();

        frontEnds[order[0]].Close();
        frontEnds[order[1]].Close();
        // Reported twice, as by an engine whose receive and send both fail.
        frontEnds[order[1]].Close();
        Assert.Equal(1, server.Connections.Count);
        await server.StopAsync(new CancellationToken(canceled: true));

        Assert.Single(server.Logs.All, static log => log.EventName == "ConnectionAborted");
        Assert.Equal([order[2]], Enumerable.Range(0, 3).Where(i => frontEnds[i].Transport.IsReset));
    }
}
