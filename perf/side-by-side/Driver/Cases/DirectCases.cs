using System.Net;

namespace SideBySide.Driver.Cases;

/// <summary>Servers loaded without a web server between: a page of 13 bytes, so that only the server's own work counts.</summary>
internal static class DirectCases
{
    private const string Php = "php-fpm";

    public static IEnumerable<Comparison> Make(Setup setup)
    {
        Peer[] unix = [.. StartPeers(setup, static setup => setup.NewUnix()), StartMono(setup)];
        foreach (var connections in new[] { 1, 10, 100, 400 })
        {
            yield return new Comparison($"hello, direct, unix socket, {connections} connections",
                [.. unix.Select(peer => FastCgi(setup, peer, connections))]);
        }

        setup.StopAll();
        var tcp = StartPeers(setup, static _ => Setup.NewTcp());
        var kestrel = setup.StartKestrel(Setup.NewTcp());
        foreach (var connections in new[] { 10, 100, 400 })
        {
            yield return new Comparison($"hello, direct, TCP, {connections} connections",
                [.. tcp.Select(peer => FastCgi(setup, peer, connections)), Http(setup, kestrel, connections)]);
        }

        yield return new Comparison("hello, direct, TCP, 50 connections, a new one for each request",
            [.. tcp.Where(static peer => peer.Name is not Php).Select(peer => FastCgi(setup, peer, 50, "--no-keepalive"))]);
        yield return new Comparison("hello, direct, TCP, 50 connections, 1,000 requests/s",
            [.. tcp.Select(peer => FastCgi(setup, peer, 50, "--rate", "1000"))]);
        setup.StopAll();
    }

    private static Contender FastCgi(Setup setup, Peer peer, int connections, params string[] options) =>
        new(peer.Name, () => setup.Load.RunFastCgi(peer.Server, connections, [.. options, .. peer.Options]));

    private static Contender Http(Setup setup, ServerProcess kestrel, int connections) =>
        new("Kestrel, HTTP", () => setup.Load.RunHttp(kestrel, null, $"http://{kestrel.EndPoint}/", connections));

    private static List<Peer> StartPeers(Setup setup, Func<Setup, EndPoint> newEndPoint)
    {
        var peers = new List<Peer>();
        void Add(string name, Func<EndPoint, ServerProcess> start, params string[] options) =>
            peers.Add(new Peer(name, start(newEndPoint(setup)), options));

        Add("floor, C", at => setup.Start(at, "floor", Place(at)));
        Add("FastCgi.AspNetCore", at => setup.StartFastCgi(at));
        Add("FastCgi.AspNetCore, Socket engine", at => setup.StartFastCgi(at, "--FastCgi:Transport:Engine", "Socket"));
        Add("libfcgi, C, a thread for each connection", at => setup.Start(at, "libfcgi", Place(at), "400"));
        Add("Go net/http/fcgi", at => setup.Start(at, "go-peer", at is IPEndPoint ? "tcp" : "unix", $"{at}"));
        Add(Php, at => setup.StartPhp(at), "-p", "SCRIPT_FILENAME=" + Path.Combine(setup.Settings.Tools, "index.php"));
        return peers;
    }

    // Over TCP its answers wait for each other's acknowledgements, 40 ms each.
    private static Peer StartMono(Setup setup)
    {
        string[] options =
        [
            "--path", "/index.ashx", "-p", "SCRIPT_NAME=/index.ashx", "-p", "DOCUMENT_ROOT=" + setup.Settings.Tools,
            "-p", "SCRIPT_FILENAME=" + Path.Combine(setup.Settings.Tools, "index.ashx"),
        ];
        return new Peer("Mono, fastcgi-mono-server4", setup.StartMono(setup.NewUnix()), options);
    }

    private static string Place(EndPoint at) => at is IPEndPoint ip ? $"{ip.Port}" : $"{at}";

    private sealed record Peer(string Name, ServerProcess Server, string[] Options);
}
