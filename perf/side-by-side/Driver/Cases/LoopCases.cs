namespace SideBySide.Driver.Cases;

/// <summary>Two loops compared with one, on one processor and on all processors of the servers.</summary>
internal static class LoopCases
{
    public static IEnumerable<Comparison> Make(Setup setup)
    {
        foreach (var connections in new[] { 10, 100 })
        {
            using var pinned = new Setup(setup.Settings with { ServerCores = "0", LoadCores = "1" });
            yield return new Comparison($"one loop and two, unix socket, {connections} connections",
                [.. Contenders(pinned, connections, "on processor 0"), .. Contenders(setup, connections, "on all")]);
            setup.StopAll();
        }
    }

    private static IEnumerable<Contender> Contenders(Setup setup, int connections, string where)
    {
        foreach (var loops in new[] { 1, 2 })
        {
            var server = new Lazy<ServerProcess>(
                () => setup.StartPackaged(
                    "minimal", setup.NewUnix(), isFastCgi: true, "--FastCgi:Transport:LoopCount", $"{loops}"));
            yield return new Contender(
                $"{loops} loop{(loops > 1 ? "s" : "")}, {where}",
                () => setup.Load.RunFastCgi(server.Value, connections));
        }
    }
}
