namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application restarts under load without losing a request.</summary>
public sealed class RestartTests(ITestOutputHelper output)
{
    // Enough for each client to get responses from both processes.
    private const int MinRequestsBetweenRestarts = 300;

    // FASTCGI_RESTARTS overrides the number.
    private static readonly int s_restartCount = int.Parse(
        Environment.GetEnvironmentVariable("FASTCGI_RESTARTS") ?? "5", CultureInfo.InvariantCulture);

    /// <summary>As with a systemd socket unit, the socket outlives the processes that inherit it.</summary>
    [Theory, Values(true, false)]
    public async Task Restart_ListeningSocketHeldByAnotherProcess_NoRequestLost(bool usesUnixSocket)
    {
        using var folder = new ScratchFolder();
        using var listener = usesUnixSocket
            ? TestSockets.ListenUnix(folder.GetPath("app.sock"), backlog: 4096)
            : TestSockets.ListenTcp(backlog: 4096);
        Descriptors.Inherit(listener);
        var url = string.Create(CultureInfo.InvariantCulture, $"fastcgi://fd:{listener.Handle}");
        await using var nginx = await WebServer.StartNginxAsync(
            folder.Path, usesUnixSocket ? $"unix:{listener.LocalEndPoint}" : $"{listener.LocalEndPoint}");
        await using var load = Load.Start(nginx.EndPoint);
        for (var i = 0; i <= s_restartCount; i++)
        {
            await using var running = await AppProcess.StartAsync(url);
            await load.WaitForAsync(load.Count + MinRequestsBetweenRestarts);
            if (i == s_restartCount)
                await load.EndAsync();
            Assert.Equal(0, await running.EndAsync("TERM"));
        }

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
