using System.Net;

namespace SideBySide.Driver;

/// <summary>
/// A server that runs the site, without a web server: Kestrel over TCP, or this server over TCP or a Unix socket.
/// </summary>
internal sealed class SiteServer(Setup setup, string name, bool isFastCgi, params string[] options)
{
    public const string Kestrel = "Kestrel, HTTP";
    public const string KestrelThreads = "Kestrel, HTTP, 200 minimum threads";
    public const string Own = "FastCgi.AspNetCore";
    public const string OwnThreadPool = "FastCgi.AspNetCore, scheduling ThreadPool";
    public const string Before = "FastCgi.AspNetCore, before";

    private ServerProcess? _kept;

    public string Name => name;

    /// <summary>The folder with the published site.</summary>
    public string Site { get; init; } = setup.Settings.Site;

    public bool IsUnix { get; init; }

    /// <summary>
    /// The servers to compare: Kestrel and this server, or two builds of this server. The others relate to the first.
    /// </summary>
    public static SiteServer[] All(Setup setup, bool isUnix = false) => setup.Settings.Against.Length > 0
        ?
        [
            new(setup, Before, isFastCgi: true) { Site = setup.Settings.Against, IsUnix = isUnix },
            new(setup, Own, isFastCgi: true) { IsUnix = isUnix },
        ]
        :
        [
            new(setup, Kestrel, isFastCgi: false),
            new(setup, KestrelThreads, isFastCgi: false, "--min-threads", "200"),
            new(setup, Own, isFastCgi: true) { IsUnix = isUnix },
            new(setup, OwnThreadPool, isFastCgi: true, "--FastCgi:Transport:ApplicationScheduling", "ThreadPool")
            {
                IsUnix = isUnix,
            },
        ];

    public ServerProcess Start() => setup.StartSite(
        IsUnix ? setup.NewUnix() : Setup.NewTcp(),
        isFastCgi,
        // As many connections to the database as requests; 100 is also the default.
        [.. options, "--database", Setup.Database + ";Maximum Pool Size=100"],
        Site);

    /// <summary>Measures a page of a server that starts at the first measurement.</summary>
    public Sample Measure(string path, int connections)
    {
        _kept ??= Start();
        return isFastCgi
            ? setup.Load.RunFastCgi(_kept, connections, "--path", path)
            : setup.Load.RunHttp(_kept, null, new HttpLoad(_kept.EndPoint, path), connections);
    }

    /// <summary>
    /// Starts the load without waiting for its end, <see cref="Generators.Read"/>. With {id} or {word} in it, the path is new for
    /// each request to a FastCGI server.
    /// </summary>
    public Generators.Running StartLoad(ServerProcess server, string path, int connections, double seconds)
    {
        if (!isFastCgi)
            return setup.Load.StartHttp(new HttpLoad(server.EndPoint, path), connections, seconds);

        string[] unique = path.Contains('{', StringComparison.Ordinal) ? ["--unique"] : [];
        return setup.Load.StartFastCgi(server, connections, seconds, [.. unique, "--path", path]);
    }
}
