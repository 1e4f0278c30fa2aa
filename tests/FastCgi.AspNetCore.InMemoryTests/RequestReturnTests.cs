namespace FastCgi.AspNetCore.InMemoryTests;

/// <summary>
/// What remains after a request: on the thread that ended it, in its connection's counts, and in the log.
/// </summary>
public sealed class RequestReturnTests
{
    /// <summary>Continuations run on the thread that ends the task, which must not pass on its own context.</summary>
    [Fact]
    public async Task AsyncLocal_OfAnApplicationThatAnotherThreadEnds_StaysInItsRequest()
    {
        var local = new AsyncLocal<string>();
        var application = new TaskCompletionSource();
        string? seen = null;
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            local.Value = "of the request";
            context.Response.OnCompleted(Apps.Do(() => seen = local.Value));
            return application.Task;
        });
        frontEnd.Send(RecordBytes.Get());
        local.Value = "of the thread";

        application.SetResult();

        Assert.Equal(("of the request", "of the thread"), (seen, local.Value));
        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
    }

    [Fact]
    public async Task Totals_OfOpenAndClosedConnections_CountAllBytes()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello);
        var (first, second) = (server.Connect(), server.Connect());
        first.Send(RecordBytes.Get());
        first.Send(RecordBytes.Get());
        second.Send(RecordBytes.Get(uri: "/longer"));
        var expected = new Totals(
            2,
            3,
            2 * RecordBytes.Get().Length + RecordBytes.Get(uri: "/longer").Length,
            first.Transport.Sent.Length + second.Transport.Sent.Length);
        Assert.Equal(expected, server.Connections.GetTotals());

        first.Close();
        Assert.Equal(expected, server.Connections.GetTotals());
        second.Close();
        Assert.Equal(expected, server.Connections.GetTotals());
    }

    /// <summary>When the machine is busiest, ticks are late and hold up the clock of the timeouts.</summary>
    [Fact]
    public async Task Latency_TickIsLate_IsTheWholeTime()
    {
        FakeClock? clock = null;
        await using var frontEnd = await TestServer.ConnectAsync(context =>
        {
            clock!.Pause(TimeSpan.FromSeconds(3));
            return Task.CompletedTask;
        });
        clock = frontEnd.Server.Clock;
        frontEnd.Server.Context.Statistics.Watch(default);

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
        var latencies = frontEnd.Server.Context.Statistics.GetRecent(default).Latencies;
        Assert.InRange(LatencyHistogram.GetPercentile(latencies, 1)!.Value.TotalSeconds, 3, 3.4);
    }

    /// <summary>A kept connection has so many after some days. A counter must not decrease.</summary>
    [Fact]
    public async Task Totals_MoreRequestsThan32Bits_AreAllCounted()
    {
        await using var frontEnd = await TestServer.ConnectAsync(Apps.Hello);
        GuardedState.Of(frontEnd.Transport.Connection).RequestCount = uint.MaxValue;

        frontEnd.Send(RecordBytes.Get());

        Assert.Equal(200, (await frontEnd.ReadResponseAsync()).Status);
        Assert.Equal(1L << 32, frontEnd.Server.Connections.GetTotals().Requests);
    }

    /// <summary>A request that the server rejects has no application to notify.</summary>
    [Fact]
    public async Task Transport_ThatFailsToSendARefusal_IsLoggedAndTheRequestIsOver()
    {
        await using var server = await TestServer.StartAsync(Apps.Hello, expects: "RequestEndFailed");
        var connection = ConnectFailing(server, "Send").Transport.Connection;
        var ready = new ReadyRequests();

        connection.OnReceived(RecordBytes.Get(uri: "no-path"), ref ready);
        ((FastCgiRequest)ready.RemoveFirst()).Execute();

        Assert.IsType<InvalidOperationException>(Assert.Single(server.Logs.Named("RequestEndFailed")).Exception);
        Assert.Equal((0, 0), (connection.GetTotals().Active, TestServer.CountUnfinished(connection)));
        // After the send, the blocks return to the output.
        connection.OnClosed(new IOException("The connection is gone."));
        connection.Output.OnSent();
    }

    /// <summary>Each step of the end fails in turn; the later steps still run.</summary>
    [Theory, Values("Send", "Close", "Send Close")]
    public async Task Transport_ThatFailsAtTheEnd_RequestIsOver(string failing)
    {
        await using var server = await TestServer.StartAsync(
            async context =>
            {
                await context.Response.WriteAsync("begun");
                if (context.Request.Path == "/cut")
                    throw new InvalidOperationException("on purpose");
            },
            static options => options.Limits.MaxRequestBufferSize = 1_000);
        server.Logs.Expected.UnionWith(["ApplicationError", "RequestEndFailed"]);

        foreach (var path in new[] { "/cut", "/body" })
        {
            var connection = ConnectFailing(server, failing).Transport.Connection;
            var ready = new ReadyRequests();
            connection.OnReceived([.. RecordBytes.PostHead(9_000, uri: path)], ref ready);
            connection.OnReceived(RecordBytes.Record(RecordBytes.Stdin, 1, new byte[5_000]), ref ready);
            ((FastCgiRequest)ready.RemoveFirst()).Execute();

            var left = (connection.GetTotals().Active, TestServer.CountUnfinished(connection));
            Record.Exception(() => connection.OnClosed(new IOException("The connection is gone.")));
            // After the send, the blocks return to the output.
            if (failing.Contains("Send"))
                connection.Output.OnSent();
            // The last, because the server would hide this failure: it checks that everything was returned.
            Assert.Equal((0, 0), left);
        }
    }

    private static FrontEnd ConnectFailing(TestServer server, string failing)
    {
        var frontEnd = server.Connect();
        // The connection must not end before the test has looked: that would remove requests that are not over.
        frontEnd.Transport.HoldsReset = true;
        frontEnd.Transport.Calling = call =>
        {
            if (failing.Contains(call))
                throw new InvalidOperationException("on purpose");
        };
        return frontEnd;
    }
}
