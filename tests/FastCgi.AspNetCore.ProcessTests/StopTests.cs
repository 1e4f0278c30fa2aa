namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>
/// After each signal to stop, every request that a web server has sent or is about to send gets its response.
/// </summary>
public sealed class StopTests : IDisposable
{
    private const int ConnectionsOfAKind = 20;

    private readonly ScratchFolder _folder = new();

    private UnixDomainSocketEndPoint EndPoint => new(_folder.Path + "/app.sock");

    private string Url => $"fastcgi://unix:{EndPoint}";

    public void Dispose() => _folder.Dispose();

    [Theory, Values("TERM", "INT")]
    public async Task Stop_Signal_EveryRequestAnswered(string signal)
    {
        await using var app = await AppProcess.StartAsync(Url);

        await StopUnderWayAsync(() => app.Send(signal));

        Assert.Equal(0, await app.WaitForExitAsync());
        Assert.True(File.Exists(EndPoint.ToString()));
    }

    [Fact]
    public async Task Stop_RequestRunsOnBeyondTheTimeout_AbortedAndExitCode0()
    {
        await using var app = await AppProcess.StartAsync(Url, "--shutdownTimeoutSeconds", "1");
        using var connection = await FastCgiClient.ConnectAsync(EndPoint);
        await connection.SendAsync("/ticks");
        await connection.ReadRecordAsync();

        Assert.Equal(0, await app.EndAsync("TERM"));
        Assert.Null(await connection.TryReadAnswerAsync());
    }

    /// <summary>Stops the application while requests and connections are in every possible state.</summary>
    private async Task StopUnderWayAsync(Action stop)
    {
        var running = await ConnectAsync();
        var idle = await ConnectAsync();
        var silent = await ConnectAsync();
        foreach (var connection in running)
            await connection.SendAsync("/ticks?count=4");
        foreach (var connection in running)
            Assert.NotNull(await connection.ReadRecordAsync());
        foreach (var connection in idle)
        {
            await connection.SendAsync("/");
            Assert.NotNull(await connection.TryReadAnswerAsync());
        }

        // The server may not have accepted these when it stops.
        var waiting = await ConnectAsync();
        foreach (var connection in waiting)
            await connection.SendAsync("/", keepConnection: false);
        stop();
        foreach (var connection in idle.Concat(silent))
            await connection.SendAsync("/");

        foreach (var connection in running)
            Assert.Contains("data: 4", await connection.TryReadAnswerAsync());
        foreach (var connection in idle.Concat(silent).Concat(waiting))
            Assert.NotNull(await connection.TryReadAnswerAsync());
        foreach (var connection in running.Concat(idle).Concat(silent).Concat(waiting))
        {
            await connection.ReadToEndAsync();
            connection.Dispose();
        }
    }

    private async Task<List<FastCgiClient>> ConnectAsync()
    {
        var connections = new List<FastCgiClient>();
        for (var i = 0; i < ConnectionsOfAKind; i++)
            connections.Add(await FastCgiClient.ConnectAsync(EndPoint));
        return connections;
    }
}
