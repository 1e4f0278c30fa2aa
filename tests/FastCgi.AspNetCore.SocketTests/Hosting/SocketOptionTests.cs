using System.Globalization;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>How accepted TCP connections are set up.</summary>
[Collection(Alone.Name)]
public sealed class SocketOptionTests
{
    // The columns of /proc/net/tcp, and what is in them.
    private const int RemoteAddress = 2, State = 3, Timer = 5;
    private const string Established = "01", KeepAliveTimer = "02:";

    [LinuxTheory, EveryEngine]
    [Trait("Contract", "T40")]
    public async Task Connection_PeerSaysNothing_HasKeepAliveProbes(FastCgiTransportEngine engine)
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
        var timer = GetTimer(client.LocalPort);
        go.SetResult();

        Assert.StartsWith(KeepAliveTimer, timer, StringComparison.Ordinal);
        Assert.Equal("Hello", await client.ReadTextAsync());
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
}
