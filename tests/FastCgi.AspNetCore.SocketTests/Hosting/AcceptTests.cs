using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>What becomes of connections that the server cannot take.</summary>
[Collection(Alone.Name)]
public sealed class AcceptTests : IDisposable
{
    private readonly ScratchFolder _folder = new();
    private readonly CollectedLogs _logs = new();

    public void Dispose() => _folder.Dispose();

    /// <summary>The web server learns of it at once, the operator too and no more than once a minute, and the processor is left to others.</summary>
    [Theory, EveryEngine]
    public async Task Accept_NoDescriptorLeft_ConnectionsAreClosedAndOneWarning(FastCgiTransportEngine engine)
    {
        await using var app = await StartAsync(engine);
        Assert.Equal("served", await FastCgiClient.GetAsync(Address));
        var clients = Enumerable.Range(0, 20).Select(static _ => new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)).ToList();
        var buffer = new byte[1];
        using (new DescriptorShortage(left: 16))
        {
            foreach (var client in clients)
                client.Connect(new UnixDomainSocketEndPoint(_folder.GetPath("app.sock")));
            foreach (var client in clients)
                Assert.Equal(0, await ReceiveAsync(client, buffer));
            // The line is written behind the close, and each further attempt may add none.
            await Task.Delay(TimeSpan.FromSeconds(1));
            // Which takes descriptors, too.
            await Task.Factory.StartNew(static () => { }, TaskCreationOptions.LongRunning);
        }

        clients.ForEach(static client => client.Dispose());
        var warning = Assert.Single(_logs.All, static log => log.EventName == "AcceptOutOfResources");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.Matches(@"may have \d+ descriptors, \d+ of them for connections: raise LimitNOFILE=", warning.Message);
        Assert.Equal("served", await FastCgiClient.GetAsync(Address));
    }

    private string Address => $"fastcgi://unix:{_folder.GetPath("app.sock")}";

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

    private async Task<WebApplication> StartAsync(FastCgiTransportEngine engine)
    {
        var builder = WebApplication.CreateBuilder(["--hostBuilder:reloadConfigOnChange=false"]);
        builder.Logging.ClearProviders().AddProvider(_logs);
        builder.WebHost.UseFastCgi(options => options.Transport.Engine = engine);
        builder.WebHost.UseUrls(Address);
        var app = builder.Build();
        app.MapGet("/", static () => "served");
        await app.StartAsync();
        return app;
    }
}
