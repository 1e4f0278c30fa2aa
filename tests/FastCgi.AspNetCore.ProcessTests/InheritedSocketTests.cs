namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application inherits its listening socket from the real program that starts it.</summary>
[Trait("Category", "Users")]
public sealed class InheritedSocketTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    private string SocketPath => Path.Combine(_folder.Path, "app.sock");

    private EndPoint UnixEndPoint => new UnixDomainSocketEndPoint(SocketPath);

    [Theory]
    [Contract("T25")]
    [Values("Epoll", "Socket")]
    public async Task SpawnFcgi_UnixSocket_IsServedAndLeftToItsMaker(string engine)
    {
        await using var starter = Starter.Start(
            ["APPLICATION_ENGINE=" + engine], "spawn-fcgi", "-n", "-s", SocketPath, "--", Starter.Application);

        var process = await starter.GetProcessAsync(UnixEndPoint);
        await starter.WaitForOutputAsync($"Now listening on: fastcgi://unix:{SocketPath}");
        Signal.Send(process, "TERM");

        Assert.Equal(0, await starter.WaitForExitAsync());
        Assert.True(File.Exists(SocketPath));
    }

    [Theory, Values("Epoll", "Socket")]
    public async Task SpawnFcgi_ProcessesShareTheSocket_OneStopsAndTheOthersServe(string engine)
    {
        // By default, a shell gives background programs no standard input.
        const string TwoProcesses = "\"$1\" <&3 & \"$1\" <&3 & wait";
        await using var starter = Starter.Start(
            ["APPLICATION_ENGINE=" + engine],
            "spawn-fcgi",
            "-n",
            "-s",
            SocketPath,
            "--",
            "/bin/sh",
            "-c",
            "exec 3<&0; " + TwoProcesses,
            "sh",
            Starter.Application);

        await Waiting.FindAsync(
            () => Task.FromResult(starter.Output.Split("Now listening on").Length > 2 ? "" : null),
            () => starter.Output);
        // The system chooses which process answers, and may choose the same one each time.
        var first = await starter.GetProcessAsync(UnixEndPoint);
        Signal.Send(first, "TERM");

        var second = await Waiting.FindAsync(
            async () => await starter.GetAsync(UnixEndPoint, "/process") is { } process && process != $"{first}"
                ? process
                : null,
            () => "The other process does not answer.");
        Signal.Send(int.Parse(second), "TERM");
        Assert.Equal(0, await starter.WaitForExitAsync());
    }

    [Theory]
    [InlineData(">&-", "/console")]
    [InlineData("2>&-", "/console")]
    [InlineData(">&- 2>&-", "/console")]
    [InlineData(">/dev/full 2>&1", "/process")]
    public async Task SpawnFcgi_UnusableStandardStreams_IsServed(string redirections, string uri)
    {
        await using var starter = Starter.Start(
            ["Logging__LogLevel__Default=Trace"],
            "spawn-fcgi",
            "-n",
            "-s",
            SocketPath,
            "--",
            "/bin/sh",
            "-c",
            $"exec \"$1\" {redirections}",
            "sh",
            Starter.Application);

        for (var i = 0; i < 50; i++)
            await starter.GetAsync(UnixEndPoint, uri);
    }

    [Fact]
    public async Task Lighttpd_BinPath_IsServed()
    {
        await using var server = await SpawningServer.StartAsync(
            _folder, "lighttpd.conf", "lighttpd", "-D", "-f", "lighttpd.conf");

        Assert.NotEqual("", await server.GetAsync("/process"));
    }

    [Theory, Values("Epoll", "Socket")]
    public async Task Systemd_TwoSockets_BothAreServed(string engine)
    {
        using var port = new PortReservation();
        await using var starter = Starter.StartBySystemd(engine, "-l", $"{port.EndPoint}", "-l", SocketPath);

        Assert.Equal(await starter.GetProcessAsync(port.EndPoint), await starter.GetProcessAsync(UnixEndPoint));
    }

    public void Dispose() => _folder.Dispose();
}
