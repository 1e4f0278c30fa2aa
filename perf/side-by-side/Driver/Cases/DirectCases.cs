using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>
/// Servers under load without a web server: a page of 13 bytes, so that only the server's own work counts.
/// </summary>
internal static class DirectCases
{
    private const string Own = "FastCgi.AspNetCore";
    private const string Floor = "floor, C";
    private const string Kestrel = "Kestrel, HTTP";
    private const string Php = "php-fpm";

    // A process or a thread for each connection of libfcgi and php-fpm.
    private const int MostThreads = 400;

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        Peer[] unix = [.. StartPeers(setup, static setup => setup.NewUnix()), StartMono(setup)];
        foreach (var connections in new[] { 1, 10, 100, 400 })
        {
            yield return new Comparison($"hello, direct, unix socket, {connections} connections",
                [.. unix.Select(peer => FastCgi(setup, peer, connections))])
            {
                Targets = connections is 10 or 100 ? [Cpu($"hello, unix socket, {connections} connections, relative to the floor", Floor, Bound.AtMost(1.9))] : [],
            };
        }

        setup.StopAll();
        var tcp = StartPeers(setup, static _ => Setup.NewTcp());
        var kestrel = new Lazy<ServerProcess>(() => setup.StartPackaged("minimal", Setup.NewTcp(), isFastCgi: false));
        foreach (var connections in new[] { 1, 10, 100, 400, 1_000, 10_000 })
        {
            yield return new Comparison($"hello, direct, TCP, {connections:#,0} connections",
                [.. Fitting(tcp, connections).Select(peer => FastCgi(setup, peer, connections)), Http(setup, kestrel, connections)])
            {
                Targets = connections == 100
                    ?
                    [
                        Cpu("hello, TCP, 100 connections, relative to Kestrel", Kestrel, Bound.AtMost(0.45)),
                        Cpu("the same, relative to the floor", Floor, Bound.AtMost(1.3)),
                    ]
                    : [],
                Place = connections,
            };
        }

        yield return new Comparison("hello, direct, TCP, 50 connections, a new one for each request",
            [.. tcp.Where(static peer => peer.Name is not Php).Select(peer => FastCgi(setup, peer, 50, "--no-keepalive"))]);
        yield return new Comparison("hello, direct, TCP, 50 connections, 1,000 requests/s",
            [.. tcp.Select(peer => FastCgi(setup, peer, 50, "--rate", "1000")), Http(setup, kestrel, 50, rate: 1_000)])
        {
            Targets = [Cpu("1,000 requests/s, 50 connections, relative to the floor", Floor, Bound.AtMost(1.7))],
        };
        setup.StopAll();
    }

    private static Target Cpu(string figure, string against, Bound bound)
        => new(figure, Own, against, static sample => sample.ServerCpu, bound);

    private static IEnumerable<Peer> Fitting(IEnumerable<Peer> peers, int connections) =>
        connections is > 1 and <= MostThreads ? peers : peers.Where(static peer => peer.Name is Own or Floor);

    private static Contender FastCgi(Setup setup, Peer peer, int connections, params string[] options) =>
        new(peer.Name, () => setup.Load.RunFastCgi(peer.Server.Value, connections, [.. options, .. peer.Options]));

    private static Contender Http(Setup setup, Lazy<ServerProcess> kestrel, int connections, int rate = 0) =>
        new(
            Kestrel,
            () => setup.Load.RunHttp(
                kestrel.Value, null, new HttpLoad(kestrel.Value.EndPoint, "/") { Rate = rate }, connections));

    private static List<Peer> StartPeers(Setup setup, Func<Setup, EndPoint> newEndPoint)
    {
        var peers = new List<Peer>();
        void Add(string name, Func<EndPoint, ServerProcess> start, params string[] options) =>
            peers.Add(new Peer(name, new(() => start(newEndPoint(setup))), options));

        Add(Floor, at => setup.Start(at, "floor", Place(at)));
        Add(Own, at => setup.StartPackaged("minimal", at, isFastCgi: true));
        Add("libfcgi, C, a thread for each connection", at => setup.Start(at, "libfcgi", Place(at), $"{MostThreads}"));
        Add("Go net/http/fcgi", at => setup.Start(at, "go-peer", at is IPEndPoint ? "tcp" : "unix", $"{at}"));
        Add(Php, at => setup.StartPhp(at), "-p", "SCRIPT_FILENAME=" + Path.Combine(setup.Settings.Tools, "index.php"));
        return peers;
    }

    // Over TCP, its responses wait 40 ms for delayed acknowledgements.
    private static Peer StartMono(Setup setup)
    {
        string[] options =
        [
            "--path", "/index.ashx", "-p", "SCRIPT_NAME=/index.ashx", "-p", "DOCUMENT_ROOT=" + setup.Settings.Tools,
            "-p", "SCRIPT_FILENAME=" + Path.Combine(setup.Settings.Tools, "index.ashx"),
        ];
        return new Peer("Mono, fastcgi-mono-server4", new(() => setup.StartMono(setup.NewUnix())), options);
    }

    private static string Place(EndPoint at) => at is IPEndPoint ip ? $"{ip.Port}" : $"{at}";

    private sealed record Peer(string Name, Lazy<ServerProcess> Server, string[] Options);
}
