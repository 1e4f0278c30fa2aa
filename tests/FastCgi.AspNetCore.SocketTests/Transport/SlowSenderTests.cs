using System.Net.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Web servers, or what else has found the port, that begin something and do not go on.</summary>
public sealed class SlowSenderTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Connection_OnWhichNoRequestBegins_IsClosed(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup,
            static app => app.MapGet("/", static () => "Hello"),
            static options => options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(1));
        using var kept = await server.ConnectAsync();
        Assert.Equal("Hello", await kept.GetAsync("/"));
        using var silent = await server.ConnectAsync();
        using var half = await server.ConnectAsync();
        await half.SendAsync(RecordBytes.Get()[..4]);

        await silent.ReadToEndAsync();
        await half.ReadToEndAsync();

        Assert.Equal("Hello", await kept.GetAsync("/"));
        // The peer may see the end a little earlier.
        await Waiting.UntilAsync(() => server.InUse.Connections == 1, "one connection to be left");
    }

    /// <summary>There is always something to receive when it is to be closed.</summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Connection_OnWhichNothingButQuestionsComes_IsReset(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup,
            static app => app.MapGet("/", static () => "Hello"),
            static options => options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(1));
        using var socket = new Socket(server.EndPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(server.EndPoint);
        var reading = ReadToEndAsync(socket);
        try
        {
            while (!reading.IsCompleted)
                await socket.SendAsync(RecordBytes.Record(RecordBytes.GetValues, 0), SocketFlags.None);
        }
        catch (SocketException)
        {
            // Reset.
        }

        await reading.Within("the end of the connection");
    }

    private static async Task ReadToEndAsync(Socket socket)
    {
        try
        {
            while (await socket.ReceiveAsync(new byte[4_096], SocketFlags.None) > 0)
            {
            }
        }
        catch (SocketException)
        {
            // Reset.
        }
    }
}
