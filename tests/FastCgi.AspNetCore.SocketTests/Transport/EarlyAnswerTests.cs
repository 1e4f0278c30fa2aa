namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>
/// One thread answers a request and closes its connection while another receives its body. Kestrel's sockets do not
/// receive after the last send, so the response can be lost there.
/// </summary>
public sealed class EarlyAnswerTests
{
    private const int Connections = 4;
    private const int RequestsInARow = 50;

    // Text that is not a record, so that losing the position in the body causes a protocol error.
    private static readonly byte[] s_request = RecordBytes.Post(
        1, "/", Encoding.ASCII.GetBytes(new string('x', 800_000)), keepConnection: false);

    [Theory, MemberData(nameof(TransportSetup.Epoll), MemberType = typeof(TransportSetup))]
    public async Task Post_AnsweredWhileTheBodyIsReceived_BodyIsDroppedAndAnswerArrives(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup, static app => app.MapPost("/", static async (HttpContext context) =>
            {
                await Task.Yield();
                await context.Response.WriteAsync("answered");
            }));

        await Task.WhenAll(Enumerable.Range(0, Connections).Select(async _ =>
        {
            for (var i = 0; i < RequestsInARow; i++)
            {
                using var connection = await server.ConnectAsync();
                var sending = connection.SendAsync(s_request);
                Assert.Equal("answered", Encoding.ASCII.GetString(await connection.ReadBodyAsync()));
                await sending;
            }
        }));

        Assert.DoesNotContain(server.Logs.All, static log => log.EventName == "ProtocolError");
    }
}
