using System.Collections.Concurrent;
using FastCgi.AspNetCore.Status;

namespace FastCgi.AspNetCore.SocketTests.Status;

/// <summary>
/// Reading the status while connections and requests come and go never fails and never mixes up their data.
/// </summary>
[Collection(Alone.Name)]
public sealed class StatusRaceTests : HostTest
{
    private const int Clients = 8;
    private const int Rounds = 150;

    [Theory, EveryEngine]
    public async Task Status_ConnectionsAndRequestsComeAndGo_ShowsThem(Engine engine)
    {
        await using var app = Build(engine, Address, "fastcgi://127.0.0.1:0");
        app.Map(
            "/hang/{number}",
            static context => Task.Delay(Timeout.Infinite, context.RequestAborted)
                .ContinueWith(static _ => { }, TaskScheduler.Default));
        app.Map("/yield/{number}", static () => Task.Delay(1));
        app.Map("/fast/{number}", static () => "Hello");
        await app.StartAsync();
        var tcp = app.Urls.Single(static url => url.Contains("127.0.0.1"));
        var reader = StatusEndpoint.MakeReader(GetServer(app), app.Services);
        using var stop = new CancellationTokenSource();
        var seen = new ConcurrentDictionary<string, string>();
        var rows = 0;

        var readers = Enumerable.Range(0, 3).Select(_ => Task.Run(() =>
        {
            while (!stop.IsCancellationRequested)
            {
                var status = reader.Read()!;
                foreach (var connection in status.OpenConnections)
                {
                    // Over TCP, a connection ID always has the same port, except while the connection closes.
                    if (connection.Peer != "an unknown peer")
                        Assert.Equal(connection.Peer, seen.GetOrAdd(connection.Id, connection.Peer));
                }

                foreach (var request in status.ActiveRequests.Where(static request => request.Path.Length > 0))
                {
                    Interlocked.Increment(ref rows);
                    Assert.Equal(ToClient(request.Path[(request.Path.LastIndexOf('/') + 1)..]), request.Client);
                }

                Assert.InRange(status.Recent.RequestsPerSecond, 0, double.MaxValue);
                Assert.NotEmpty(StatusEndpoint.WritePage(status, out var policy) + policy);
            }
        })).ToArray();
        await Task.WhenAll(
            Enumerable.Range(0, Clients)
                .Select(number => Task.Run(() => DisturbAsync(number % 2 == 0 ? tcp : Address, number))));
        await stop.CancelAsync();
        await Task.WhenAll(readers).Within("the readers to end");

        Assert.True(rows > 0, "No request was ever seen.");
        await Waiting.UntilAsync(
            () => reader.Read() is { Requests.Active: 0, Connections.Active: 0, ActiveRequests.Count: 0 },
            "all to be over");
    }

    private static string ToClient(string number)
    {
        var value = int.Parse(number, CultureInfo.InvariantCulture);
        return $"10.0.{value / 250}.{value % 250}";
    }

    private static async Task DisturbAsync(string address, int seed)
    {
        var random = new Random(seed);
        for (var round = 0; round < Rounds; round++)
        {
            using var client = await FastCgiClient.ConnectAsync(address);
            var number = (seed * Rounds) + round;
            var uri = (random.Next(3) switch { 0 => "/fast/", 1 => "/yield/", _ => "/hang/" }) + number.ToString(
                CultureInfo.InvariantCulture);
            (string Name, string Value)[] parameters =
            [
                .. RecordBytes.RequestParams("GET", uri).Where(static pair => pair.Name != "REMOTE_ADDR"),
                ("REMOTE_ADDR", ToClient(number.ToString(CultureInfo.InvariantCulture))),
            ];
            await client.SendAsync(
                [
                    .. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, parameters),
                    .. RecordBytes.Record(RecordBytes.Stdin, 1),
                ]);
            if (!uri.StartsWith("/hang", StringComparison.Ordinal))
                _ = await client.ReadResponseAsync();
            else if (random.Next(2) == 0)
                await client.SendAsync(RecordBytes.Abort());
            if (random.Next(3) == 0 && !address.Contains("unix"))
                client.Reset();
        }
    }
}
