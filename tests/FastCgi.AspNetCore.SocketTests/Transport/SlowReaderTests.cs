using FastCgi.AspNetCore.Testing;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace FastCgi.AspNetCore.SocketTests.Transport;

public sealed class SlowReaderTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Response_NothingOfItIsTaken_RequestIsAborted(TransportSetup setup)
    {
        var aborted = Waiting.Signal();
        await using var server = await TransportServer.StartAsync(
            setup,
            app => app.MapGet("/", async (HttpContext context) =>
            {
                context.RequestAborted.Register(aborted.SetResult);
                await context.Response.Body.WriteAsync(new byte[50_000_000]);
            }),
            static options => options.Limits.UnsentResponseTimeout = TimeSpan.FromSeconds(1));
        using var connection = await server.ConnectAsync();

        await connection.SendAsync(RecordBytes.Get());

        await aborted.Task.Within("the abort");
    }
}
