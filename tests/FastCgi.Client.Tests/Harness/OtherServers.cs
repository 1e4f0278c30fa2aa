using System.Reflection;
using Xunit.Sdk;

namespace FastCgi.Client.Tests.Harness;

/// <summary>Applications of other FastCGI libraries. Each answers with the method, the length of the body, and the sum of its bytes.</summary>
public sealed class OtherServers : IAsyncLifetime, IDisposable
{
    private const string PhpConfiguration = """
        [global]
        daemonize = no
        error_log = php.log
        [www]
        user = root
        listen = {0}/php-fpm.sock
        pm = static
        pm.max_children = 3
        """;

    private readonly ScratchFolder _folder = new();
    private readonly List<ServerProcess> _processes = [];

    private static string Sources => Path.Combine(AppContext.BaseDirectory, "Servers");

    /// <summary>What php-fpm needs as SCRIPT_FILENAME.</summary>
    public static string Script => Path.Combine(Sources, "index.php");

    public string GetAddress(string server) => $"unix:{_folder.GetPath(server)}.sock";

    public FastCgiHttpHandler CreateHandler(string server, FastCgiClientOptions? options = null) => new(GetAddress(server), options)
    {
        Parameters = { ["SCRIPT_FILENAME"] = Script },
    };

    /// <summary>Says why a server cannot be tested.</summary>
    public static string? FindMissing(string server) => server switch
    {
        "php-fpm" when FindPhp() is null => "php-fpm is not installed.",
        "libfcgi" when !File.Exists("/usr/include/fcgiapp.h") || Find("gcc") is null => "libfcgi-dev or gcc is not installed.",
        "go" when Find("go") is null => "Go is not installed.",
        _ => null,
    };

    public async Task InitializeAsync()
    {
        var configuration = _folder.Write("php-fpm.conf", System.Text.Encoding.UTF8.GetBytes(PhpConfiguration.Replace("{0}", _folder.Path, StringComparison.Ordinal)));
        await StartAsync("php-fpm", $"exec {FindPhp()} -n -R -p . -y {configuration}");
        await StartAsync("libfcgi", $"gcc -o c {Sources}/libfcgi.c -lfcgi && exec ./c libfcgi.sock");
        await StartAsync("go", $"go build -o g {Sources}/main.go && exec ./g go.sock");
    }

    public async Task DisposeAsync()
    {
        foreach (var process in _processes)
            await process.DisposeAsync();
    }

    public void Dispose() => _folder.Dispose();

    private static string? FindPhp() => Directory.EnumerateFiles("/usr/sbin", "php-fpm*").FirstOrDefault();

    private static string? Find(string program) => Environment.GetEnvironmentVariable("PATH")!.Split(':').Select(folder => Path.Combine(folder, program)).FirstOrDefault(File.Exists);

    private async Task StartAsync(string server, string command)
    {
        if (FindMissing(server) is not null)
            return;

        var process = ServerProcess.Start("sh", ["-c", command], _folder.Path);
        _processes.Add(process);
        await Waiting.UntilAsync(
            () => Task.FromResult(File.Exists(_folder.GetPath(server + ".sock"))), () => process.HasExited ? $"{server} did not start:\n{process.Output}" : null, $"{server} to listen");
    }
}

/// <summary>A server that a theory is tried on.</summary>
[AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
public sealed class ServerDataAttribute(string server) : DataAttribute
{
    public override string? Skip { get; set; } = OtherServers.FindMissing(server);

    public override IEnumerable<object[]> GetData(MethodInfo testMethod) => [[server]];
}
