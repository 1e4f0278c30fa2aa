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

    [Theory, MemberData(nameof(Setups))]
    public async Task Events_HandlerBlocksBetween_EachIsSent(
        TransportSetup setup, FastCgiApplicationScheduling scheduling)
    {
        using var next = new SemaphoreSlim(0);
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapGet("/feed/{name}", (HttpContext context) =>
            {
                context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
                for (var i = 0; i < Events; i++)
                {
                    context.Response.Body.Write(Encoding.ASCII.GetBytes($"event {i};"));
                    context.Response.Body.Flush();
                    Assert.True(next.Wait(TimeSpan.FromSeconds(60)), "The event has not left.");
                }
            }),
            options => options.Transport.ApplicationScheduling = scheduling);
        using var connection = await server.ConnectAsync();

        // First on an unknown path, and then on one that is known to block.
        for (var i = 0; i < 2; i++)
        {
            await connection.SendAsync(RecordBytes.Get(uri: "/feed/one"));
            var content = "";
            for (var count = 0; count < Events; count++)
            {
                while (!content.EndsWith($"event {count};", StringComparison.Ordinal))
                    content += Encoding.ASCII.GetString((await connection.ReadRecordAsync())!.Content);
                next.Release();
            }

            await connection.ReadResponseAsync();
        }
    }
}
