namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// A handler that flushes and then blocks, such as one that sleeps between events: each event is sent promptly.
/// </summary>
public sealed class StreamedEventTests
{
    private const int Events = 3;

    public static TheoryData<TransportSetup, FastCgiApplicationScheduling> Setups => Rows.Cross(
        Enum.GetValues<Engine>().Select(static engine => new TransportSetup(engine, IsUnix: true)),
        Enum.GetValues<FastCgiApplicationScheduling>());

    /// <summary>With Inline, other requests of the same receive wait, by definition.</summary>
    public static IEnumerable<object[]> SetupsWithAnotherThread
        => Setups.Where(static setup => (FastCgiApplicationScheduling)setup[1] != FastCgiApplicationScheduling.Inline);

    [Theory, MemberData(nameof(Setups))]
    public async Task Events_HandlerBlocksBetween_EachIsSent(
        TransportSetup setup, FastCgiApplicationScheduling scheduling)
    {
        using var next = new SemaphoreSlim(0);
        await using var server = await StartAsync(setup, scheduling, next);
        using var connection = await server.ConnectAsync();

        // First on an unknown path, and then on one that is known to block.
        for (var i = 0; i < 2; i++)
        {
            await connection.SendAsync(RecordBytes.Get(uri: "/feed/one"));
            await ReadEventsAsync(connection, 1, next);
            await connection.ReadResponseAsync();
        }
    }

    [Theory, MemberData(nameof(SetupsWithAnotherThread))]
    public async Task Events_OfOneOfSeveralRequestsOfAReceive_EachLeaves(
        TransportSetup setup, FastCgiApplicationScheduling scheduling)
    {
        using var next = new SemaphoreSlim(0);
        await using var server = await StartAsync(setup, scheduling, next);
        using var connection = await server.ConnectAsync();

        await connection.SendAsync([.. RecordBytes.Get(1, "/feed/one"), .. RecordBytes.Get(2, "/hello")]);

        var sibling = await ReadEventsAsync(connection, 1, next);
        if (!sibling.Contains("hello", StringComparison.Ordinal))
            await connection.ReadRecordAsync();
    }

    private static Task<TransportServer> StartAsync(
        TransportSetup setup, FastCgiApplicationScheduling scheduling, SemaphoreSlim next)
        => TransportServer.StartAsync(
        setup,
        app =>
        {
            app.MapGet("/hello", static () => "hello");
            app.MapGet("/feed/{name}", (HttpContext context) =>
            {
                context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
                for (var i = 0; i < Events; i++)
                {
                    context.Response.Body.Write(Encoding.ASCII.GetBytes($"event {i};"));
                    context.Response.Body.Flush();
                    Assert.True(next.Wait(TimeSpan.FromSeconds(60)), "The event has not left.");
                }
            });
        },
        options => options.Transport.ApplicationScheduling = scheduling);

    /// <summary>Reads each event of a request before allowing the next one.</summary>
    private static async Task<string> ReadEventsAsync(FastCgiClient connection, int id, SemaphoreSlim next)
    {
        var content = "";
        var others = "";
        for (var i = 0; i < Events; i++)
        {
            while (!content.EndsWith($"event {i};", StringComparison.Ordinal))
            {
                var record = await connection.ReadRecordAsync() ?? throw new EndOfStreamException();
                if (record.Id == id)
                    content += Encoding.ASCII.GetString(record.Content);
                else
                    others += Encoding.ASCII.GetString(record.Content);
            }

            next.Release();
        }

        return others;
    }
}
