namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The configurations of <c>samples/scale-out</c> for several machines, with an instance for each.</summary>
public sealed class ScaleOutTests
{
    private const int RequestCount = 2_000;

    [Theory]
    [InlineData("nginx.conf")]
    [InlineData("haproxy.cfg")]
    public async Task Restart_OneOfTwoMachines_NoRequestLost(string configuration)
    {
        using var folder = new ScratchFolder();
        using var first = new PortReservation();
        using var second = new PortReservation();
        var restarted = await AppProcess.StartAsync($"fastcgi://{first.EndPoint}");
        try
        {
            await using var other = await AppProcess.StartAsync($"fastcgi://{second.EndPoint}");
            await using var frontEnd = await WebServer.StartSampleAsync(folder.Path, configuration, $"{first.EndPoint}", $"{second.EndPoint}");
            await using var load = Load.Start(frontEnd.EndPoint);
            await load.WaitForAsync(RequestCount);

            Assert.Equal(0, await restarted.EndAsync("TERM"));
            await load.WaitForAsync(load.Count + RequestCount);
            await restarted.DisposeAsync();
            restarted = await AppProcess.StartAsync($"fastcgi://{first.EndPoint}");
            await load.WaitForAsync(load.Count + RequestCount);
            await load.EndAsync();

            Assert.True(load.Failures.Count == 0, string.Join('\n', load.Failures.Take(20)) + "\n" + frontEnd.Log);
        }
        finally
        {
            await restarted.DisposeAsync();
        }
    }
}
