namespace SideBySide.Driver.Cases;

/// <summary>Waiting requests: the memory of each, and the cost of an event for all of them.</summary>
internal static class WaitingCases
{
    private const int Requests = 10_000;

    // Enough requests for the runtime to compile their code, so that the compiler's memory is not counted as theirs.
    private const int WarmUps = 3;
    private const int WarmUpRequests = 100;

    private const string OwnConnection = "FastCgi.AspNetCore, unix socket";
    private const string Multiplexed = "FastCgi.AspNetCore, unix socket, 100 on each of 100 connections";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        static double Bytes(Sample sample) => sample.Memory;
        yield return new Comparison(
            "10,000 requests that wait, direct, a connection each; memory is bytes for a request",
            new Contender("Kestrel, HTTP, TCP", () => Permit(setup, setup.StartKestrel(Setup.NewTcp()))),
                new Contender("Kestrel, HTTP, unix socket", () => Permit(setup, setup.StartKestrel(setup.NewUnix()))),
                new Contender(
                    "FastCgi.AspNetCore, TCP",
                    () => HoldFastCgi(setup, setup.StartFastCgi(Setup.NewTcp()), Requests, 1)),
                new Contender(
                    OwnConnection, () => HoldFastCgi(setup, setup.StartFastCgi(setup.NewUnix()), Requests, 1)),
                new Contender(Multiplexed,
                    () => HoldFastCgi(setup, setup.StartFastCgi(setup.NewUnix()), 100, 100)),
                new Contender("FastCgi.AspNetCore, unix socket, 100 on each of 500 connections",
                    () => HoldFastCgi(setup, setup.StartFastCgi(setup.NewUnix()), 500, 100)))
        {
            Targets =
            [
                new Target(
                    "held request, own connection, bytes", OwnConnection, null, Bytes, Bound.BytesAtMost(2_700)),
                new Target(
                    "held request, multiplexed, bytes", Multiplexed, null, Bytes, Bound.BytesAtMost(2_400)),
            ],
            MostRounds = setup.Settings.IsQuick ? 1 : 3,
        };

        yield return new Comparison("5,000 clients of server-sent events, an event a second each, through nginx; a request is an event, memory is bytes for a client",
            new Contender(SitePair.Kestrel, () => Listen(setup, setup.StartKestrel(setup.NewUnix()), isFastCgi: false)),
            new Contender(SitePair.Own, () => Listen(setup, setup.StartFastCgi(setup.NewUnix()), isFastCgi: true)))
        {
            Targets =
            [
                SitePair.Backend(
                    "server-sent events, 5,000 clients, CPU per event, relative to Kestrel", Bound.AtMost(0.4)),
                SitePair.Slow("the same, memory per client", Bytes, Bound.AtMost(0.4)),
            ],
            MostRounds = setup.Settings.IsQuick ? 1 : 3,
        };
    }

    private static Sample Permit(Setup setup, ServerProcess server)
    {
        for (var i = 0; i < WarmUps; i++)
        {
            using (HttpClients.Open(server.EndPoint, "/hold", WarmUpRequests))
                Thread.Sleep(TimeSpan.FromSeconds(1));
        }

        Thread.Sleep(TimeSpan.FromSeconds(2));
        var before = server.Memory;
        using var clients = HttpClients.Open(server.EndPoint, "/hold", Requests);
        Thread.Sleep(TimeSpan.FromSeconds(5));
        var sample = new Sample { Memory = (server.Memory - before) * 1024 / Requests };
        setup.StopAll();
        return sample;
    }

    private static Sample HoldFastCgi(Setup setup, ServerProcess server, int connections, int multiplexed)
    {
        for (var i = 0; i < WarmUps; i++)
            setup.Load.StartFastCgi(server, WarmUpRequests, 1, "--path", "/hold").End();
        Thread.Sleep(TimeSpan.FromSeconds(2));
        var before = server.Memory;
        var load = setup.Load.StartFastCgi(
            server, connections, 7, "--mux", $"{multiplexed}", "--path", "/hold");
        Thread.Sleep(TimeSpan.FromSeconds(5));
        var held = server.Memory - before;
        var requests = connections * multiplexed;
        var waiting = Generators.Read(load.End()).Waiting;
        setup.StopAll();
        return new Sample { Memory = held * 1024 / requests, Errors = requests - waiting };
    }

    private static Sample Listen(Setup setup, ServerProcess server, bool isFastCgi)
    {
        const int Clients = 5_000;
        var nginx = setup.StartNginx(server, isFastCgi);
        using (HttpClients.Open(nginx.EndPoint, "/events", WarmUpRequests))
            Thread.Sleep(TimeSpan.FromSeconds(2));
        Thread.Sleep(TimeSpan.FromSeconds(1));
        var before = server.Memory;
        using var clients = HttpClients.Open(nginx.EndPoint, "/events", Clients);
        Thread.Sleep(TimeSpan.FromSeconds(3));
        var (serverTime, nginxTime) = (server.CpuTime, nginx.CpuTime);
        var events = clients.CountReceived("tick", TimeSpan.FromSeconds(5));
        var sample = new Sample
        {
            ServerCpu = (server.CpuTime - serverTime) / events,
            FrontCpu = (nginx.CpuTime - nginxTime) / events,
            Rate = events / 5.0,
            Memory = (server.Memory - before) * 1024 / Clients,
            Errors = Math.Max(0, (Clients * 4) - events),
        };
        clients.Dispose();
        setup.StopAll();
        return sample;
    }
}
