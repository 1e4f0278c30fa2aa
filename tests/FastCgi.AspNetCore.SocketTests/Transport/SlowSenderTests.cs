namespace FastCgi.AspNetCore.SocketTests.Transport;

/// <summary>Peers that begin something and never finish it.</summary>
public sealed class SlowSenderTests
{
    /// <summary>There is always more to receive at the time of the close.</summary>
    [Theory, MemberData(nameof(TransportSetup.All), MemberType = typeof(TransportSetup))]
    public async Task Connection_OnlyManagementRecords_IsReset(TransportSetup setup)
    {
        await using var server = await TransportServer.StartAsync(
            setup,
            static app => app.MapGet("/", static () => "Hello"),
            static options => options.Limits.RequestParametersTimeout = TimeSpan.FromSeconds(1));
        using var socket = new Socket(server.EndPoint.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        // Not asynchronously: on a busy machine, that could see the reset instead of the connection.
        socket.Connect(server.EndPoint);
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
