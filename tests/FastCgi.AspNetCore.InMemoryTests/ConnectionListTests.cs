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
        // Told twice, as by an engine whose receive and send both fail.
        frontEnds[order[1]].Close();
        Assert.Equal(1, server.Connections.Count);
        await server.StopAsync(new CancellationToken(canceled: true));

        Assert.Single(server.Logs.All, static log => log.EventName == "ConnectionAborted");
        Assert.Equal([order[2]], Enumerable.Range(0, 3).Where(i => frontEnds[i].Transport.IsReset));
    }

    [Theory]
    [InlineData(false, 0)]
    [InlineData(true, 1)]
    public async Task Stop_TimeIsOver_ToldOfTheRequestsThatAreAborted(bool hasRequest, int count)
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.UntilAborted);
        if (hasRequest)
            frontEnd.Send(RecordBytes.Get());

        await frontEnd.Server.StopAsync(new CancellationToken(canceled: true));

        Assert.Equal(count, frontEnd.Server.Logs.All.Count(static log => log.EventName == "StopTimedOut"));
    }
}
