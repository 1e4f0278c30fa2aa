using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace SideBySide.Driver;

/// <summary>Starts the servers to compare, in a scratch folder and on free ports, and stops them at the end.</summary>
internal sealed class Setup(Settings settings) : IDisposable
{
    /// <summary>
    /// The default of .NET, in hexadecimal. The package changes it for its applications; Kestrel runs with the default.
    /// </summary>
    public const string DefaultSpinning = "DOTNET_ThreadPool_UnfairSemaphoreSpinLimit=46";

    private readonly Stack<ServerProcess> _servers = new();

    public Settings Settings => settings;

    public Generators Load { get; } = new(settings);

    /// <summary>Where sockets, files and logs are.</summary>
    public string Folder { get; } = Directory.CreateTempSubdirectory("side-by-side-").FullName;

    /// <summary>The connection to the database, which run.sh starts.</summary>
    public static string Database => Environment.GetEnvironmentVariable("SIDE_BY_SIDE_DATABASE") ?? "";

    /// <summary>Starts the site that has a page for each case on this server.</summary>
    public ServerProcess StartFastCgi(EndPoint endPoint, params string[] options)
        => StartSite(endPoint, isFastCgi: true, options, settings.Site);

    /// <summary>Starts the site that has a page for each case on Kestrel.</summary>
    public ServerProcess StartKestrel(EndPoint endPoint, params string[] options)
        => StartSite(endPoint, isFastCgi: false, options, settings.Site);

    /// <summary>Starts a site that uses the server's package, on either server.</summary>
    public ServerProcess StartPackaged(string name, EndPoint endPoint, bool isFastCgi, params string[] options) =>
        StartAssembly(PackagedAssembly(name), endPoint, isFastCgi, options);

    /// <summary>The program of a site that uses the server's package.</summary>
    public string PackagedAssembly(string name) => Path.Combine(settings.PackagedSites, name, name + ".dll");

    /// <summary>Starts a program of the tools folder, or of the system.</summary>
    public ServerProcess Start(EndPoint endPoint, string program, params string[] arguments)
    {
        var own = Path.Combine(settings.Tools, program);
        var server = new ServerProcess(settings, endPoint, File.Exists(own) ? own : program, arguments)
        {
            NeedsWarmUp = program is not ("floor" or "libfcgi" or "go-peer"),
        };
        _servers.Push(server);
        return server;
    }

    /// <summary>Starts a program of the system, and waits until it is ready by other means than a connection.</summary>
    public ServerProcess StartWhen(
        EndPoint endPoint, Func<EndPoint, bool> isReady, string program, params string[] arguments)
    {
        var server = new ServerProcess(settings, endPoint, isReady, program, arguments);
        _servers.Push(server);
        return server;
    }

    /// <summary>The arguments that run a site on this server.</summary>
    public static string[] FastCgi(EndPoint at)
        =>
        [
            "--server",
            "fastcgi",
            "--urls",
            at is UnixDomainSocketEndPoint ? $"fastcgi://unix:{at}" : $"fastcgi://{at}",
        ];

    /// <summary>The arguments that run a site on Kestrel.</summary>
    public static string[] Kestrel(EndPoint at)
        => ["--server", "kestrel", "--urls", at is UnixDomainSocketEndPoint ? $"http://unix:{at}" : $"http://{at}"];

    /// <summary>Starts nginx in front of a server.</summary>
    public ServerProcess StartNginx(ServerProcess backend, bool isFastCgi) => StartNginx(backend.EndPoint, isFastCgi);

    /// <summary>Starts nginx in front of an address.</summary>
    public ServerProcess StartNginx(EndPoint backend, bool isFastCgi, bool isKept = true, string extra = "")
    {
        var endPoint = NewTcp();
        var folder = Path.Combine(Folder, $"nginx-{endPoint.Port}");
        Directory.CreateDirectory(folder);
        var configuration = Path.Combine(folder, "nginx.conf");
        File.WriteAllText(configuration, NginxConfiguration.Make(folder, endPoint, backend, isFastCgi, isKept, extra));
        return Start(endPoint, "nginx", "-c", configuration, "-e", Path.Combine(folder, "error.log"));
    }

    /// <summary>Starts php-fpm with a process for each of 400 connections.</summary>
    public ServerProcess StartPhp(EndPoint endPoint)
    {
        var configuration = Path.Combine(Folder, $"php-{_servers.Count}.conf");
        File.WriteAllText(configuration, $"""
            [global]
            error_log = {Folder}/php.log
            daemonize = no
            [www]
            user = root
            listen = {endPoint}
            listen.backlog = 4096
            pm = static
            pm.max_children = 400
            """);
        return Start(endPoint, "php-fpm", "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", configuration);
    }

    /// <summary>Starts Mono's server with the page.</summary>
    public ServerProcess StartMono(UnixDomainSocketEndPoint endPoint) =>
        Start(
            endPoint,
            "fastcgi-mono-server4",
            $"/socket=unix:{endPoint}",
            $"/applications=/:{settings.Tools}",
            "/loglevels=None");

    public UnixDomainSocketEndPoint NewUnix()
        => new(Path.Combine(Folder, $"{_servers.Count}-{Guid.NewGuid():N}"[..12]));

    public static IPEndPoint NewTcp()
    {
        using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        probe.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return (IPEndPoint)probe.LocalEndPoint!;
    }

    /// <summary>Creates a file of the given size.</summary>
    public void MakeFile(string name, int size)
    {
        Directory.CreateDirectory(Path.Combine(Folder, "files"));
        File.WriteAllBytes(Path.Combine(Folder, "files", name), new byte[size]);
    }

    /// <summary>Stops the servers started since then.</summary>
    public void StopAll()
    {
        while (_servers.TryPop(out var server))
            server.Dispose();
    }

    public void Dispose()
    {
        StopAll();
        Directory.Delete(Folder, recursive: true);
    }

    private ServerProcess StartAssembly(string assembly, EndPoint endPoint, bool isFastCgi, string[] options)
        => isFastCgi
        ? Start(endPoint, "dotnet", [assembly, .. FastCgi(endPoint), .. options])
        : Start(endPoint, "env", [DefaultSpinning, "dotnet", assembly, .. Kestrel(endPoint), .. options]);

    /// <summary>Starts the site that is published in this folder.</summary>
    public ServerProcess StartSite(EndPoint endPoint, bool isFastCgi, string[] options, string site)
    {
        Directory.CreateDirectory(Path.Combine(Folder, "files"));
        string[] shared = ["--files", Path.Combine(Folder, "files")];
        if (Database.Length > 0)
            shared = [.. shared, "--database", Database];
        return StartAssembly(
            Path.Combine(site, "SideBySide.Site.dll"), endPoint, isFastCgi, [.. shared, .. options]);
    }
}
