namespace SideBySide.Driver.Cases;

/// <summary>
/// Requests for hello on some connections while others request a page that keeps its thread. The figures are those of
/// hello.
/// </summary>
/// <param name="SlowPath">
/// The page. With {id} or {word} in it, its path is new for each request to a FastCGI server.
/// </param>
/// <param name="SlowConnections">The connections that request it, one request at a time.</param>
/// <param name="LearnSeconds">How long the load runs before the measurement.</param>
/// <param name="FastConnections">The connections that request hello.</param>
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
        // The CPU time includes both pages, so it is not a figure of either.
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
