namespace SideBySide.Driver.Cases;

/// <summary>
/// Hellos on some connections while others ask for a page that keeps its thread. The figures are those of the hellos.
/// </summary>
/// <param name="SlowPath">
/// The page; with {id} or {word} in it, its path is new for each request, of a FastCGI server.
/// </param>
/// <param name="SlowConnections">Connections that ask for it, one request at a time.</param>
/// <param name="LearnSeconds">How long the load runs before the measurement.</param>
/// <param name="FastConnections">Connections that ask for hello.</param>
internal sealed record Mix(string SlowPath, int SlowConnections, int LearnSeconds, int FastConnections = 90)
{
    /// <summary>Measures a server that has just been started, and stops it.</summary>
    public Sample Measure(Setup setup, ServerProcess server, bool isFastCgi)
    {
        var measuredSeconds = setup.Settings.IsQuick ? 2 : 3;
        Start("/", FastConnections, setup.Settings.WarmUpSeconds / 2).End();
        var slow = Start(SlowPath, SlowConnections, LearnSeconds + measuredSeconds + 1);
        string report;
        try
        {
            if (LearnSeconds > 0)
                Start("/", FastConnections, LearnSeconds).End();
            report = Start("/", FastConnections, measuredSeconds).End();
        }
        finally
        {
            slow.End();
        }

        setup.StopAll();
        // The processor time is of both pages, so it is no figure of one.
        return (isFastCgi ? Generators.ReadFastCgi(report) : Generators.ReadHttp(report)) with
        {
            ServerCpu = double.NaN,
        };

        Generators.Running Start(string path, int connections, double seconds) => isFastCgi
            ? setup.Load.StartFastCgi(
                server,
                connections,
                seconds,
                path.Contains('{', StringComparison.Ordinal) ? ["--unique", "--path", path] : ["--path", path])
            : setup.Load.StartHttp(new HttpLoad(server.EndPoint, path), connections, seconds);
    }
}
