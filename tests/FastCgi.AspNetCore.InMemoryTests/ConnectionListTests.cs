using System.Diagnostics.Metrics;

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

    [Fact]
    public async Task Connections_ToldTwiceThatTheyAreClosed_AreCountedOnce()
    {
        const int Count = 20;
        await using var server = await TestServer.StartAsync(Apps.Hello);
        using var meter = new Meter(nameof(ConnectionListTests));
        var recorded = 0;
        using var listener = new MeterListener();
        var durations = meter.CreateHistogram<double>("duration");
        listener.SetMeasurementEventCallback<double>((_, _, _, _) => Interlocked.Increment(ref recorded));
        listener.EnableMeasurementEvents(durations);
        var connections = new ConnectionManager(server.Context, durations);

        for (var i = 0; i < Count; i++)
        {
            var connection = new FastCgiConnection(connections, new MemoryTransport());
            Assert.True(connections.TryAdd(connection));
            connection.OnClosed(new IOException("gone"));
            connection.OnClosed(new IOException("gone"));
            Assert.Equal(ConnectionPhase.Closed, connection.Describe().Phase);
        }

        await Waiting.UntilAsync(() => Volatile.Read(ref recorded) >= Count, "the durations");
        Assert.Equal((Count, Count), (recorded, connections.GetTotals().Connections));
    }

    [Fact]
    public async Task Connections_OfWhichSomeAreDescribed_ThoseOpenedFirst()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var ids = Enumerable.Range(0, 3).Select(_ => server.Connect().Transport.Connection.Id).ToList();

        Assert.Equal(ids[..2], server.Connections.Describe(maxCount: 2).Select(static connection => connection.Id));
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

    /// <summary>Whoever executes it does not wait for it, and learns from what it says.</summary>
    [Theory, Values("rejected", "aborted", "ended")]
    public async Task Execute_OfARequestThatAwaitsNothing_HasReturned(string how)
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var connection = server.Connect().Transport.Connection;
        var ready = new ReadyRequests();

        connection.OnReceived(how == "rejected" ? [.. RecordBytes.Begin(), .. RecordBytes.Record(RecordBytes.Params, 1)] : RecordBytes.Get(), ref ready);
        if (how == "aborted")
            connection.OnReceived(RecordBytes.Abort(), ref ready);

        Assert.True(ready.RemoveFirst().Execute());
    }
}
