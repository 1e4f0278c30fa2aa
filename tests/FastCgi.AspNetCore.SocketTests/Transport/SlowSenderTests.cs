using System.Net.Sockets;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Web servers, or what else has found the port, that begin something and do not go on.</summary>
public sealed class SlowSenderTests
{
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Body_SlowerThanTheRate_408AndTheConnectionGoesOn(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup,
            static app =>
            {
                app.MapPost("/", static (HttpContext context) => context.Request.Body.CopyToAsync(Stream.Null));
                app.MapGet("/", static () => "Hello");
            },
            static options => options.Limits.MinRequestBodyDataRate = new MinDataRate(1_000, TimeSpan.FromSeconds(1.01)));
        server.Logs.Expected.Add("ApplicationError");
        using var connection = await server.ConnectAsync();
        await connection.SendAsync(
            [.. RecordBytes.Begin(), .. RecordBytes.ParamsStream(1, RecordBytes.RequestParams("POST", "/", ("CONTENT_LENGTH", "100000"))), .. RecordBytes.Record(RecordBytes.Stdin, 1, new byte[10])]);

        Assert.Contains("Status: 408", await connection.TryReadAnswerAsync(), StringComparison.Ordinal);
        Assert.Equal("Hello", await connection.GetAsync("/"));
    }

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
