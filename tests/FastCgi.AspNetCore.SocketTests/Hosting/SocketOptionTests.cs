using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>How accepted TCP connections are set up.</summary>
[Collection(Alone.Name)]
public sealed class SocketOptionTests
{
    // The columns of /proc/net/tcp, and what is in them.
    private const int RemoteAddress = 2, State = 3, Timer = 5;
    private const string Established = "01", KeepAliveTimer = "02:";

    /// <summary>A response of several sends would wait for the peer's acknowledgement between them, for 40 milliseconds.</summary>
    [LinuxTheory, EveryEngine]
    [Trait("Contract", "T40")]
    public async Task Connection_OverTcp_HasKeepAliveProbesAndSendsWithoutDelay(FastCgiTransportEngine engine)
    {
        var (timer, hasNoDelay) = await LookAsync(engine, static client => (GetTimer(client.LocalPort), HasNoDelay(client.LocalPort)));

        Assert.StartsWith(KeepAliveTimer, timer, StringComparison.Ordinal);
        Assert.True(hasNoDelay);
    }

    /// <summary>Looks at the connection while its request runs.</summary>
    private static async Task<T> LookAsync<T>(FastCgiTransportEngine engine, Func<FastCgiClient, T> look)
    {
        var entered = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var go = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseFastCgi(options => options.Transport.Engine = engine).UseUrls("fastcgi://127.0.0.1:0");
        await using var app = builder.Build();
        app.Run(async context =>
        {
            entered.SetResult();
            await go.Task;
            await context.Response.WriteAsync("Hello");
        });
        await app.StartAsync();
        using var client = await FastCgiClient.ConnectAsync(Assert.Single(app.Urls));

        // While the application runs, nothing is on its way, so that the only timer is the one of the probes.
        await client.SendAsync("/", keepConnection: false);
        await entered.Task.WaitAsync(Waiting.Patience);
        var seen = look(client);
        go.SetResult();

        Assert.Equal("Hello", await client.ReadTextAsync());
        return seen;
    }

    /// <summary>The timer of the connection whose other end is that port of this machine.</summary>
    private static string GetTimer(int clientPort)
    {
        var remote = clientPort.ToString("X4", CultureInfo.InvariantCulture);
        return File.ReadLines("/proc/net/tcp")
            .Skip(1)
            .Select(static line => line.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            .Single(columns => columns[State] == Established && columns[RemoteAddress].EndsWith(':' + remote, StringComparison.Ordinal))[Timer];
    }

    /// <summary>Of the descriptor of this process whose other end is that port.</summary>
    private static bool HasNoDelay(int clientPort)
    {
        foreach (var entry in new DirectoryInfo("/proc/self/fd").EnumerateFiles())
        {
            if (entry.LinkTarget?.StartsWith("socket:", StringComparison.Ordinal) != true)
                continue;

            using var handle = new SafeSocketHandle(int.Parse(entry.Name, CultureInfo.InvariantCulture), ownsHandle: false);
            using var socket = new Socket(handle);
            if (socket is { AddressFamily: AddressFamily.InterNetwork, Connected: true, RemoteEndPoint: IPEndPoint { Port: var port } } && port == clientPort)
                return socket.NoDelay;
        }

        throw new InvalidOperationException("There is no such connection.");
    }
}
