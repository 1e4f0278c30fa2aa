using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>The same server without a reader of its status, and with a collector that reads it every second.</summary>
internal static class StatusCases
{
    private const string Unseen = "not collected";
    private const string Collected = "JSON every second";

    // The status page reads it every two seconds.
    private static readonly TimeSpan s_interval = TimeSpan.FromSeconds(1);

    // So that the just-in-time compilation of the first requests is not measured.
    private const int WarmUp = 150;

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        var unseen = new Lazy<ServerProcess>(() => setup.StartPackaged("minimal", setup.NewUnix(), isFastCgi: true));
        var at = Setup.NewTcp();
        var collected = new Lazy<ServerProcess>(() =>
        {
            var server = setup.StartPackaged("minimal", setup.NewUnix(), isFastCgi: true, "--status", $"http://{at}");
            WaitFor(at);
            Collect(at, WarmUp);
            return server;
        });
        foreach (var connections in new[] { 10, 100 })
        {
            yield return new Comparison($"hello, unix socket, {connections} connections, the status collected",
                new Contender(Unseen, () => setup.Load.RunFastCgi(unseen.Value, connections)),
                new Contender(Collected, () => MeasureCollected(setup, collected.Value, at, connections)))
            {
                // A difference of 1 % needs more rounds than one of 50 %.
                Repeat = 5,
                Targets = [new($"hello, unix socket, {connections} connections, meters and status collected every second, relative to no collection", Collected, Unseen, static sample => sample.ServerCpu, Bound.AtMost(1.03))],
            };
        }

        setup.StopAll();
    }

    private static Sample MeasureCollected(Setup setup, ServerProcess server, IPEndPoint at, int connections)
    {
        using var isMeasured = new ManualResetEventSlim();
        var collecting = Task.Run(() =>
        {
            do
            {
                Collect(at, 1);
            }
            while (!isMeasured.Wait(s_interval));
        });
        try
        {
            return setup.Load.RunFastCgi(server, connections);
        }
        finally
        {
            isMeasured.Set();
            collecting.GetAwaiter().GetResult();
        }
    }

    /// <summary>The address of the status follows the endpoints.</summary>
    private static void WaitFor(IPEndPoint at)
    {
        for (var attempt = 0; ; attempt++)
        {
            try
            {
                Collect(at, 1);
                return;
            }
            catch (HttpRequestException) when (attempt < 100)
            {
                Thread.Sleep(50);
            }
        }
    }

    private static void Collect(IPEndPoint at, int count)
    {
        using var client = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        for (var i = 0; i < count; i++)
        {
            using var request = new HttpRequestMessage(
                HttpMethod.Get, new Uri($"http://{at}/fastcgi-status?format=json"));
            using var response = client.Send(request, HttpCompletionOption.ResponseContentRead);
            response.EnsureSuccessStatusCode();
        }
    }
}
