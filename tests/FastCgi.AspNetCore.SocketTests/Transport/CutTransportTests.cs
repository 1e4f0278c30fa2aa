namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// A started response that fails is cut by a reset or, after a whole record, by bytes that are no record. It never just
/// stops.
/// InMemoryTests check each reason.
/// </summary>
public sealed class CutTransportTests
{
    private const int Length = 20_000_000;

    public enum Peer
    {
        /// <summary>It has read everything.</summary>
        Idle,

        /// <summary>It reads nothing until the response is cut.</summary>
        Slow,

        /// <summary>It reads nothing until the server has closed the connection.</summary>
        Stalled,
    }

    // .NET's sockets send again only when the peer has read, and an intermediate pipe can be closed but not cut.
    public static IEnumerable<object[]> Cases
        => from setup in TransportSetup.List
           from peer in Enum.GetValues<Peer>()
           where peer != Peer.Stalled || setup.Engine == Engine.Epoll
           select new object[] { setup, peer };

    [Theory, MemberData(nameof(Cases))]
    public async Task StartedResponse_Fails_IsSeenAsCut(TransportSetup setup, Peer peer)
    {
        var started = Waiting.Signal();
        var fail = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapGet("/", async (HttpContext context) =>
            {
                _ = context.Response.Body.WriteAsync(new byte[peer == Peer.Idle ? 10 : Length]).AsTask();
                started.SetResult();
                await fail.Task;
                throw new InvalidOperationException("The application fails.");
            }),
            options => options.Limits.LingerTimeout = TimeSpan.FromSeconds(peer == Peer.Stalled ? 2 : 60));
        server.Logs.Expected.Add("ApplicationError");
        using var connection = await server.ConnectAsync();
        await connection.SendAsync(RecordBytes.Get());
        await started.Task.Within("the start of the response");
        if (peer == Peer.Idle)
            Assert.Equal(RecordBytes.Stdout, (await connection.ReadRecordAsync())!.Type);

        fail.SetResult();

        if (peer == Peer.Stalled)
            await Waiting.UntilAsync(() => server.InUse.Connections == 0, "the end of the connection");
        await AssertCutAsync(connection);
    }

    private static async Task AssertCutAsync(FastCgiClient connection)
    {
        byte last = 0;
        try
        {
            // Throws if the connection ends within a record.
            while (await connection.ReadRecordAsync() is { } record)
                last = record.Type;
        }
        catch (IOException exception) when (
            exception.InnerException is SocketException { SocketErrorCode: SocketError.ConnectionReset })
        {
            return;
        }

        Assert.Equal(RecordBytes.CutMark, last);
    }
}
