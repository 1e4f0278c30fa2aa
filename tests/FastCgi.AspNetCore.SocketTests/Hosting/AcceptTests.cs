using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>What becomes of connections that the server cannot take.</summary>
[Collection(Alone.Name)]
public sealed class AcceptTests : HostTest
{
    /// <summary>The web server learns of it at once, the operator too and no more than once a minute, and the processor is left to others.</summary>
    [Theory, EveryEngine]
    public async Task Accept_NoDescriptorLeft_ConnectionsAreClosedAndOneWarning(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        Assert.Equal("Hello", await FastCgiClient.GetAsync(Address));
        var clients = Enumerable.Range(0, 20).Select(static _ => new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)).ToList();
        var buffer = new byte[1];
        using (new DescriptorShortage(left: 16))
        {
            foreach (var client in clients)
                client.Connect(new UnixDomainSocketEndPoint(SocketPath));
            foreach (var client in clients)
                Assert.Equal(0, await ReceiveAsync(client, buffer));
            // The line is written behind the close, and each further attempt may add none.
            await Task.Delay(TimeSpan.FromSeconds(1));
            // Which takes descriptors, too.
            await Task.Factory.StartNew(static () => { }, TaskCreationOptions.LongRunning);
        }

        clients.ForEach(static client => client.Dispose());
        var warning = Assert.Single(Logs.All, static log => log.EventName == "AcceptOutOfResources");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.Matches(@"may have \d+ descriptors, \d+ of them for connections: raise LimitNOFILE=", warning.Message);
        Assert.Equal("Hello", await FastCgiClient.GetAsync(Address));
    }

    private static async Task<int> ReceiveAsync(Socket socket, byte[] buffer)
    {
        try
        {
            return await socket.ReceiveAsync(buffer).WaitAsync(Waiting.Patience);
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionReset)
        {
            return 0;
        }
    }
}
