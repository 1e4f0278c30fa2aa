using System.Net.Sockets;

namespace FastCgi.AspNetCore.PackageTests;

/// <summary>An application that <c>dotnet new</c> makes outside the repository, with the package and the one line added, behind nginx.</summary>
internal sealed class Application : IAsyncDisposable
{
    private const string Name = "Hello";

    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_interval = TimeSpan.FromMilliseconds(20);

    private readonly ScratchFolder _folder = new();
    private readonly PortReservation _port = new();
    private readonly HttpClient _client = new(new SocketsHttpHandler { UseProxy = false });
    private ServerProcess? _process;
    private ServerProcess? _nginx;

    private string Published => Path.Combine(_folder.Path, "published");

    /// <summary>Makes the application.</summary>
    /// <param name="usesFeedAlone">Whether nothing is restored but the package.</param>
    /// <param name="template">The template and its options.</param>
    public static async Task<Application> CreateAsync(bool usesFeedAlone, params string[] template)
    {
        var feed = await PackageFeed.Instance;
        var application = new Application();
        var folder = application._folder.Path;
        await File.WriteAllTextAsync(
            Path.Combine(folder, "nuget.config"),
            $"""<configuration><packageSources>{(usesFeedAlone ? "<clear />" : "")}<add key="feed" value="{feed.Path}" /></packageSources></configuration>""");
        await DotnetCommand.RunAsync(folder, ["new", .. template, "--name", Name, "--output", folder, "--no-restore"]);
        await DotnetCommand.RunAsync(folder, "add", "package", "FastCgi.AspNetCore", "--version", PackageFeed.Version, "--no-restore");
        await application.AddServerAsync();
        return application;
    }

    /// <summary>Adds to the project file.</summary>
    public async Task AddToProjectAsync(string text)
    {
        var project = Directory.GetFiles(_folder.Path, "*.*proj").Single();
        await File.WriteAllTextAsync(project, (await File.ReadAllTextAsync(project)).Replace("</Project>", text + "</Project>", StringComparison.Ordinal));
    }

    /// <summary>Publishes it.</summary>
    /// <returns>What that wrote.</returns>
    public async Task<string> PublishAsync(params string[] arguments)
        => await DotnetCommand.RunAsync(_folder.Path, ["publish", "-c", "Release", "-o", Published, "-p:NuGetAudit=false", .. arguments]);

    /// <summary>Starts it, and nginx before it.</summary>
    public async Task StartAsync()
    {
        var program = Path.Combine(Published, Name);
        string[] command = File.Exists(program + ".dll") && !File.Exists(Path.Combine(Published, "libcoreclr.so")) ? ["dotnet", program + ".dll"] : [program];
        _process = ServerProcess.Start("sh", ["-c", "cd \"$1\"; shift; umask 0; exec \"$@\"", "sh", Published, .. command, "--urls", $"fastcgi://unix:{_folder.Path}/app.sock"]);

        var configuration = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "nginx.conf"));
        await File.WriteAllTextAsync(
            Path.Combine(_folder.Path, "nginx.conf"),
            configuration.Replace("{{port}}", $"{_port.EndPoint.Port}", StringComparison.Ordinal).Replace("{{folder}}", _folder.Path, StringComparison.Ordinal));
        _nginx = ServerProcess.Start("nginx", ["-p", _folder.Path, "-c", "nginx.conf", "-e", "error.log"], _folder.Path);
        await UntilAsync(() => File.Exists(Path.Combine(_folder.Path, "app.sock")) && _process.Output.Contains("Application started.", StringComparison.Ordinal) && Accepts());
    }

    /// <summary>Gets a page of it through nginx.</summary>
    public async Task<string> GetAsync(string path)
    {
        using var response = await _client.GetAsync(new Uri($"http://{_port.EndPoint}{path}")).WaitAsync(s_patience);
        var text = await response.Content.ReadAsStringAsync();
        Assert.True(response.IsSuccessStatusCode, $"{response.StatusCode}\n{text}\n{_process!.Output}");
        return text;
    }

    /// <summary>The file of an assembly that the running application has loaded, relative to where it is published.</summary>
    public string FindLoadedAssembly(string name)
    {
        var maps = Directory.GetDirectories("/proc").Select(static folder => Path.Combine(folder, "maps")).SelectMany(ReadLines);
        var line = maps.First(line => line.EndsWith($"/{name}.dll", StringComparison.Ordinal) && line.Contains(Published, StringComparison.Ordinal));
        return line[(line.IndexOf(Published, StringComparison.Ordinal) + Published.Length + 1)..];
    }

    public async ValueTask DisposeAsync()
    {
        if (_nginx is not null)
            await _nginx.DisposeAsync();
        if (_process is not null)
            await _process.DisposeAsync();
        _client.Dispose();
        _port.Dispose();
        _folder.Dispose();
    }

    /// <summary>Processes end while one looks, and some are not for everybody to see.</summary>
    private static string[] ReadLines(string file)
    {
        try
        {
            return File.ReadAllLines(file);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }

    private async Task AddServerAsync()
    {
        var program = Directory.GetFiles(_folder.Path, "Program.*").Single();
        var (line, added) = program.EndsWith(".fs", StringComparison.Ordinal)
            ? ("    let builder = WebApplication.CreateBuilder(args)\n", "    Microsoft.AspNetCore.Hosting.WebHostBuilderFastCgiExtensions.UseFastCgi(builder.WebHost) |> ignore\n")
            : ("var builder = WebApplication.CreateBuilder(args);\n", "builder.WebHost.UseFastCgi();\n");
        var text = (await File.ReadAllTextAsync(program)).ReplaceLineEndings("\n");
        Assert.Contains(line, text, StringComparison.Ordinal);
        await File.WriteAllTextAsync(program, text.Replace(line, line + added, StringComparison.Ordinal));
    }

    private async Task UntilAsync(Func<bool> condition)
    {
        using var timeout = new CancellationTokenSource(s_patience);
        using var timer = new PeriodicTimer(s_interval);
        while (!condition())
        {
            Assert.False(_process!.HasExited || _nginx!.HasExited || timeout.IsCancellationRequested, $"It does not start:\n{_process.Output}\n{_nginx!.Output}");
            await timer.WaitForNextTickAsync(CancellationToken.None);
        }
    }

    private bool Accepts()
    {
        using var probe = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            probe.Connect(_port.EndPoint);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
