namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application under systemd: its notifications, and the units in samples/systemd.</summary>
[Trait("Category", "Users")]
public sealed class SystemdTests : IDisposable
{
    private readonly ScratchFolder _folder = new();

    [Fact]
    public async Task Notify_StartAndStop_AreReported()
    {
        var path = Path.Combine(_folder.Path, "notify");
        var application = Path.Combine(_folder.Path, "app.sock");
        using var systemd = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
        systemd.Bind(new UnixDomainSocketEndPoint(path));
        await using var starter = Starter.Start(
            [$"NOTIFY_SOCKET={path}", $"ASPNETCORE_URLS=fastcgi://unix:{application}"], Starter.Application);

        Assert.StartsWith("READY=1\n", await ReceiveAsync(systemd));
        // The application is ready, so no retry is necessary.
        Signal.Send(
            int.Parse(await FastCgiClient.GetAsync(new UnixDomainSocketEndPoint(application), "/process")), "TERM");
        Assert.StartsWith("STOPPING=1\n", await ReceiveAsync(systemd));
        Assert.Equal(0, await starter.WaitForExitAsync());
        Assert.Equal(0, systemd.Available);
    }

    [AnalyzeTheory, Trait("Category", "Users")]
    [InlineData("app.service", "app.service")]
    [InlineData("app@.service", "app@1.service")]
    public async Task Units_AreValidAndHardened(string file, string unit)
    {
        await CopyUnitsAsync();
        var path = Path.Combine(_folder.Path, unit);
        if (file != unit)
            File.Copy(Path.Combine(_folder.Path, file), path);

        await using var verify = Starter.Start(
            "systemd-analyze", "verify", path, Path.Combine(_folder.Path, "app.socket"));
        Assert.True(await verify.WaitForExitAsync() == 0, verify.Output);
        Assert.DoesNotContain("app", verify.Output);

        // At most 2.0 of 10. An unhardened service has 9.6.
        await using var security = Starter.Start(
            "systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", path);
        Assert.True(await security.WaitForExitAsync() == 0, security.Output);
    }

    public void Dispose() => _folder.Dispose();

    private static async Task<string> ReceiveAsync(Socket socket)
    {
        var buffer = new byte[1_000];
        return Encoding.UTF8.GetString(buffer, 0, await socket.ReceiveAsync(buffer).WaitAsync(Waiting.Patience));
    }

    private async Task CopyUnitsAsync()
    {
        foreach (var file in Directory.EnumerateFiles(Path.Combine(AppContext.BaseDirectory, "systemd")))
        {
            var text = (await File.ReadAllTextAsync(file)).Replace("=/srv/app/app", "=/bin/true");
            await File.WriteAllTextAsync(Path.Combine(_folder.Path, Path.GetFileName(file)), text);
        }
    }

    /// <summary>systemd-analyze creates this folder unless systemd is running.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    private sealed class AnalyzeTheoryAttribute : TheoryAttribute
    {
        public override string? Skip { get; set; } = Environment.IsPrivilegedProcess || Directory.Exists("/run/systemd")
            ? null
            : "systemd-analyze needs /run/systemd, which only root can create.";
    }
}
