namespace FastCgi.AspNetCore.ProcessTests;

/// <summary>The files of <c>samples/scale-out</c>, with one process per machine.</summary>
public sealed class ScaleOutTests
{
    private const int RequestCount = 1_500;
    private const int MachineCount = 3;

    [Theory, Values("nginx.conf", "haproxy.cfg")]
    public async Task Restart_TwoOfThreeMachines_NoRequestLost(string configuration)
    {
        using var folder = new ScratchFolder();
        var ports = Enumerable.Range(0, MachineCount).Select(static _ => new PortReservation()).ToList();
        var machines = await Task.WhenAll(ports.Select(StartAsync));
        try
        {
            await using var frontEnd = await WebServer.StartSampleAsync(
                folder.Path, configuration, ports.Select(static port => port.EndPoint));
            await using var load = Load.Start(frontEnd.EndPoint);
            await load.WaitForAsync(RequestCount);
            for (var i = 0; i < 2; i++)
            {
                Assert.Equal(0, await machines[i].EndAsync("TERM"));
                await load.WaitForAsync(load.Count + RequestCount);
                await machines[i].DisposeAsync();
                machines[i] = await StartAsync(ports[i]);
                await load.WaitForAsync(load.Count + RequestCount);
            }

            await load.EndAsync();

            Assert.True(load.Failures.Count == 0, string.Join('\n', load.Failures.Take(20)) + "\n" + frontEnd.Log);
        }
        finally
        {
            foreach (var machine in machines)
                await machine.DisposeAsync();
            ports.ForEach(static port => port.Dispose());
        }
    }

    private static Task<AppProcess> StartAsync(PortReservation port)
        => AppProcess.StartAsync($"fastcgi://{port.EndPoint}");
}
