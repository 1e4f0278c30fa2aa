namespace FastCgi.Client.Tests.Harness;

/// <summary>
/// Applications of other FastCGI libraries. Each answers with the method, the length of the body, and the sum of its
/// bytes.
/// </summary>
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

    private static readonly Dictionary<string, string[]> s_programs = new()
    {
        ["php-fpm"] = ["/usr/sbin/php-fpm*"],
        ["libfcgi"] = ["gcc", "/usr/include/stdlib.h", "/usr/include/fcgiapp.h"],
        ["go"] = ["go"],
    };

    private readonly ScratchFolder _folder = new();
    private readonly List<ServerProcess> _processes = [];

    private static string Sources => Path.Combine(AppContext.BaseDirectory, "Servers");

    /// <summary>What php-fpm needs as SCRIPT_FILENAME.</summary>
    public static string Script => Path.Combine(Sources, "index.php");

    /// <summary>The address of an application. Skips the test if it could not be started.</summary>
    public string GetAddress(string server)
    {
        Programs.Require(s_programs[server]);
        return $"unix:{_folder.GetPath(server)}.sock";
    }

    public FastCgiHttpHandler CreateHandler(string server, FastCgiClientOptions? options = null)
        => new(GetAddress(server), options)
        {
            Parameters = { ["SCRIPT_FILENAME"] = Script },
        };

    public async Task InitializeAsync()
    {
        var configuration = _folder.Write("php-fpm.conf", System.Text.Encoding.UTF8.GetBytes(
            PhpConfiguration.Replace("{0}", _folder.Path)));
        await StartAsync("php-fpm", $"set -- /usr/sbin/php-fpm*; exec \"$1\" -n -R -p . -y {configuration}");
        await StartAsync("libfcgi", $"gcc -o c '{Sources}/libfcgi.c' -lfcgi && exec ./c libfcgi.sock");
        await CompileAsync("go", ["build", "-o", "g", $"{Sources}/main.go"]);
        await StartAsync("go", "exec ./g go.sock");
    }

    public async Task DisposeAsync()
    {
        foreach (var process in _processes)
            await process.DisposeAsync();
    }

    public void Dispose() => _folder.Dispose();

    /// <summary>Without a cache, Go compiles its library too, for minutes.</summary>
    private async Task CompileAsync(string compiler, string[] arguments)
    {
        if (!Programs.AreInstalled(compiler))
            return;

        await using var process = ServerProcess.Start(compiler, arguments, _folder.Path);
        Assert.True(await process.WaitForExitAsync(TimeSpan.FromMinutes(10)) == 0, process.Output);
    }

    private async Task StartAsync(string server, string command)
    {
        if (!Programs.AreInstalled(s_programs[server]))
            return;

        var process = ServerProcess.Start("sh", ["-c", command], _folder.Path);
        _processes.Add(process);
        await Waiting.UntilAsync(
            () => Task.FromResult(File.Exists(_folder.GetPath(server + ".sock"))),
            () => process.HasExited ? $"{server} did not start:\n{process.Output}" : null,
            $"{server} to listen");
    }
}
