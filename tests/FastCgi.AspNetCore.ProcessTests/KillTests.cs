namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The application is killed under load, and restarts without manual cleanup.</summary>
public sealed class KillTests
{
    private static readonly TimeSpan s_recovery = TimeSpan.FromSeconds(1);

    [Theory, Values(true, false)]
    public async Task Kill_UnderLoad_NoRequestFailsASecondAfterTheNextStart(bool usesUnixSocket)
    {
        using var folder = new ScratchFolder();
        using var port = new PortReservation();
        var address = usesUnixSocket ? $"unix:{folder.Path}/app.sock" : $"{port.EndPoint}";
        await using var killed = await AppProcess.StartAsync($"fastcgi://{address}");
        await using var nginx = await WebServer.StartNginxAsync(folder.Path, address);
        await using var load = Load.Start(nginx.EndPoint);
        await load.WaitForAsync(100);

        await killed.EndAsync("KILL");
        await using var next = await AppProcess.StartAsync($"fastcgi://{address}");
        var readyAt = Stopwatch.GetTimestamp();
        await Waiting.UntilAsync(() => Stopwatch.GetElapsedTime(readyAt) > s_recovery, "a second");
        await load.WaitForAsync(load.Count + 1_000);
        await load.EndAsync();

        Assert.NotEmpty(load.Failures);
        Assert.DoesNotContain(
            load.Failures, failure => Stopwatch.GetElapsedTime(readyAt, failure.BegunAt) > s_recovery);
    }
}
