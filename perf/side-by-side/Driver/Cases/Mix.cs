namespace SideBySide.Driver.Cases;

/// <summary>
/// Requests for hello on some connections while others request a page that keeps its thread. The figures are those of
/// hello.
/// </summary>
/// <param name="SlowPath">The page, as <see cref="SiteServer.StartLoad"/> takes it.</param>
/// <param name="SlowConnections">The connections that request it, one request at a time.</param>
/// <param name="LearnSeconds">How long the load runs before the measurement.</param>
/// <param name="FastConnections">The connections that request hello.</param>
internal sealed record Mix(string SlowPath, int SlowConnections, int LearnSeconds, int FastConnections = 90)
{
    /// <summary>Starts a server, measures it, and stops it.</summary>
    public Sample Measure(Setup setup, SiteServer server)
    {
        var measuredSeconds = setup.Settings.IsQuick ? 2 : 3;
        var process = server.Start();
        StartHello(setup.Settings.WarmUpSeconds / 2).End();
        var slow = server.StartLoad(process, SlowPath, SlowConnections, LearnSeconds + measuredSeconds + 1);
        string report;
        try
        {
            if (LearnSeconds > 0)
                StartHello(LearnSeconds).End();
            report = StartHello(measuredSeconds).End();
        }
        finally
        {
            slow.End();
        }

        var sample = Generators.Read(report) with { Memory = process.Memory };
        setup.StopAll();
        return sample;

        Generators.Running StartHello(double seconds) => server.StartLoad(process, "/", FastConnections, seconds);
    }
}
