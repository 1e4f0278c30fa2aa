namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application restarts under load without losing a request.</summary>
public abstract class RestartTests(ITestOutputHelper output, bool usesUnixSocket)
{
    // Enough for each client to get responses from both processes.
    private const int MinRequestsBetweenRestarts = 300;

    // FASTCGI_RESTARTS overrides the number.
    private static readonly int s_restartCount = int.Parse(
        Environment.GetEnvironmentVariable("FASTCGI_RESTARTS") ?? "5", CultureInfo.InvariantCulture);

    [Fact]
    public async Task Restart_OneOfTwoInstancesAtATime_NoRequestLost()
    {
        using var folder = new ScratchFolder();
        using var firstPort = new PortReservation();
        using var secondPort = new PortReservation();
        var instances = usesUnixSocket
            ? new[] { $"unix:{folder.Path}/1.sock", $"unix:{folder.Path}/2.sock" }
            : [$"{firstPort.EndPoint}", $"{secondPort.EndPoint}"];
        AppProcess[] running =
        [
            await AppProcess.StartAsync($"fastcgi://{instances[0]}"),
            await AppProcess.StartAsync($"fastcgi://{instances[1]}"),
        ];
        try
        {
            await using var nginx = await WebServer.StartNginxAsync(folder.Path, instances);
            await using var load = Load.Start(nginx.EndPoint);
            for (var i = 0; i < s_restartCount; i++)
            {
                await load.WaitForAsync(load.Count + MinRequestsBetweenRestarts);
                Assert.Equal(0, await running[i % 2].EndAsync("TERM"));
                await running[i % 2].DisposeAsync();
                running[i % 2] = await AppProcess.StartAsync($"fastcgi://{instances[i % 2]}");
            }

            await EndAsync(load, nginx);
        }
        finally
        {
            foreach (var instance in running)
                await instance.DisposeAsync();
        }
    }

    [Fact]
    public async Task Restart_ListeningSocketHeldByAnotherProcess_NoRequestLost()
    {
        using var folder = new ScratchFolder();
        using var listener = Listen(folder);
        var url = string.Create(CultureInfo.InvariantCulture, $"fastcgi://fd:{listener.Handle}");
        await using var nginx = await WebServer.StartNginxAsync(
            folder.Path, usesUnixSocket ? $"unix:{listener.LocalEndPoint}" : $"{listener.LocalEndPoint}");
        var running = await AppProcess.StartAsync(url);
        try
        {
            await using var load = Load.Start(nginx.EndPoint);
            for (var i = 0; i < s_restartCount; i++)
            {
                await load.WaitForAsync(load.Count + MinRequestsBetweenRestarts);
                Assert.Equal(0, await running.EndAsync("TERM"));
                await running.DisposeAsync();
                running = await AppProcess.StartAsync(url);
            }

            await EndAsync(load, nginx);
        }
        finally
        {
            await running.DisposeAsync();
        }
    }

    /// <summary>As with a systemd socket unit, the socket outlives the processes that inherit it.</summary>
    private Socket Listen(ScratchFolder folder)
    {
        var socket = usesUnixSocket
            ? TestSockets.ListenUnix(folder.GetPath("app.sock"), backlog: 4096)
            : TestSockets.ListenTcp(backlog: 4096);
        Descriptors.Inherit(socket);
        return socket;
    }

    private async Task EndAsync(Load load, WebServer nginx)
    {
        await load.WaitForAsync(s_restartCount * MinRequestsBetweenRestarts);
        await load.EndAsync();
        output.WriteLine($"{load.Count} requests, {load.Failures.Count} failed.");
        Assert.True(load.Failures.Count == 0, string.Join('\n', load.Failures.Take(20)) + "\n" + Tail(nginx.Log));
        Assert.DoesNotContain("No such file", nginx.Log, StringComparison.Ordinal);
    }

    private static string Tail(string log)
        => string.Join(
            '\n',
            log.Split('\n')
                .Where(static line => !line.Contains("connect() failed", StringComparison.Ordinal))
                .TakeLast(20));
}

public sealed class UnixRestartTests(ITestOutputHelper output) : RestartTests(output, usesUnixSocket: true);

public sealed class TcpRestartTests(ITestOutputHelper output) : RestartTests(output, usesUnixSocket: false);
