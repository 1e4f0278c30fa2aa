using System.Text.RegularExpressions;

namespace FastCgi.AspNetCore.ProcessTests.Faults;

/// <summary>
/// Requests of all kinds, directly and through nginx: each response is right, the heap does not grow, and no resource
/// remains in use. FASTCGI_SOAK_SECONDS sets the time of all setups together.
/// </summary>
public sealed partial class SoakTests(ITestOutputHelper output)
{
    // The garbage collector's own memory, and the sessions, which the application limits.
    private const double HeapGrowth = 1.25;
    private const int HeapAllowance = 8_000_000;

    private static readonly TimeSpan s_time = TimeSpan.FromSeconds(int.Parse(
        Environment.GetEnvironmentVariable("FASTCGI_SOAK_SECONDS") ?? "16", CultureInfo.InvariantCulture)) / 4;

    [Theory, MemberData(nameof(ServerSetup.All), MemberType = typeof(ServerSetup))]
    public async Task Load_ForLong_NothingIsWrongAndNothingIsLeft(ServerSetup setup)
    {
        await using var server = await FaultedServer.StartAsync(setup, isFaulted: false);
        await RunAsync(server, s_time / 5);
        var (before, heapBefore) = (await server.GetUsageAsync(), await GetHeapAsync(server));

        var answers = await RunAsync(server, s_time);

        // The loops and threads may open a few descriptors late. A leak would be one for each connection or request.
        var after = await server.SettleAsync(before, descriptors: 16, threads: 500);
        var heap = await GetHeapAsync(server);
        output.WriteLine($"{setup}: {answers} answers; {before}, heap {heapBefore}; {after}, heap {heap}");
        Assert.InRange(heap, 0, (heapBefore * HeapGrowth) + HeapAllowance);
        Assert.Empty(Message().Matches(server.Output).Select(static message => message.Value));
    }

    private static async Task<double> GetHeapAsync(FaultedServer server)
        => double.Parse(await FastCgiClient.GetAsync(server.Address, "/collect"), CultureInfo.InvariantCulture);

    /// <returns>The number of responses.</returns>
    private static async Task<long> RunAsync(FaultedServer server, TimeSpan time)
    {
        using var folder = new ScratchFolder();
        await using var nginx = await WebServer.StartNginxAsync(folder.Path, server.Address["fastcgi://".Length..]);
        using var http = new HttpClient { BaseAddress = new Uri($"http://{nginx.EndPoint}") };
        await using var throughNginx = Load.Start(nginx.EndPoint);
        await using var load = FaultLoad.Start(
            server, MultiplexAsync, AbortAsync, HeadAsync, MissingAsync, EventsAsync, VisitAsync,
            _ => FastCgiClient.GetAsync(server.Address, "/bytes/100"), _ => LeaveAsync(http));
        var start = Stopwatch.GetTimestamp();
        await load.WaitAsync(() => Stopwatch.GetElapsedTime(start) > time, "the time");
        await load.WaitForEachAsync();
        await throughNginx.EndAsync();
        await load.EndAsync();

        Assert.Empty(throughNginx.Failures);
        Assert.Empty(load.Losses);
        return load.Answers + throughNginx.Count;
    }

    /// <summary>Eight requests at a time, with parameters in another order, and ids up to the largest.</summary>
    private static async Task MultiplexAsync(FastCgiClient client)
    {
        var first = Random.Shared.Next(65_520, 65_536);
        var bodies = Enumerable.Range(0, 8)
            .ToDictionary(i => 1 + ((first - 1 + i) % 65_535), static _ => new MemoryStream());
        await client.SendAsync(
            [
                .. bodies.Keys.SelectMany(static id => RecordBytes.Begin(id)),
                .. bodies.Keys.Reverse().SelectMany(static id => RecordBytes.ParamsStream(
                    id, RecordBytes.RequestParams(uri: $"/whoami/{id}"))),
                .. bodies.Keys.SelectMany(static id => RecordBytes.Record(RecordBytes.Stdin, id)),
            ]);
        while (bodies.Count > 0)
        {
            var record = await client.ReadRecordAsync() ?? throw new EndOfStreamException("A response is missing.");
            bodies[record.Id].Write(record.Content);
            if (record.Type != RecordBytes.EndRequest)
                continue;

            Assert.Contains($"/whoami/{record.Id}\"", Encoding.UTF8.GetString(bodies[record.Id].ToArray()));
            bodies.Remove(record.Id);
        }
    }

    private static async Task AbortAsync(FastCgiClient client)
    {
        await client.SendAsync(
            [.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams(uri: "/wait"))]);
        if (Random.Shared.Next(2) == 0)
            await Task.Yield();
        await client.SendAsync(RecordBytes.Abort());
        Assert.Empty(await client.ReadResponseAsync());
    }

    private static async Task HeadAsync(FastCgiClient client)
    {
        await client.SendAsync("/whoami/1", method: "HEAD");
        Assert.EndsWith("\r\n\r\n", await client.TryReadAnswerAsync());
    }

    private static async Task MissingAsync(FastCgiClient client)
    {
        await client.SendAsync("/missing");
        Assert.Contains("Status: 404", await client.TryReadAnswerAsync());
    }

    private static async Task EventsAsync(FastCgiClient client)
        => Assert.Equal(
            string.Concat(Enumerable.Range(0, 5).Select(static i => $"data: {i}\n\n")),
            await client.GetAsync("/events"));

    /// <summary>A user comes, and comes again.</summary>
    private static async Task VisitAsync(FastCgiClient client)
    {
        await client.SendAsync("/session");
        var answer = Encoding.UTF8.GetString(await client.ReadResponseAsync());
        Assert.EndsWith("\r\n\r\n1", answer);
        var cookie = answer.Split("Set-Cookie: ")[1].Split(';')[0];
        await client.SendAsync(RecordBytes.Get(uri: "/session", more: ("HTTP_COOKIE", cookie)));
        Assert.Equal("2", await client.ReadTextAsync());
    }

    /// <summary>The client disconnects from nginx while the handler runs.</summary>
    private static async Task LeaveAsync(HttpClient http)
    {
        using var source = new CancellationTokenSource(TimeSpan.FromMilliseconds(5));
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => http.GetAsync("/wait", source.Token));
    }

    /// <summary>A problem, but for advice on the mode of the socket and on the host, which has no port here.</summary>
    [GeneratedRegex(@"^(warn|fail|crit): FastCgi.AspNetCore\[(?!(31|54)\]).*\n.*", RegexOptions.Multiline)]
    private static partial Regex Message();
}
