using System.Collections.Concurrent;
using System.Text.Json;

namespace FastCgi.AspNetCore.PackageTests;

/// <summary>
/// An application created by <c>dotnet new</c> outside the repository, with the package and the one line added, behind
/// nginx.
/// </summary>
internal sealed class Application : IAsyncDisposable
{
    private const string Name = "Hello";

    // An application that several tests publish in different ways is created once.
    private static readonly ConcurrentDictionary<string, Lazy<Task<string>>> s_made = new();

    private static int s_count;

    private readonly ScratchFolder _folder = new();
    private readonly WebServerProcess _nginx;
    private readonly HttpClient _client = new(new SocketsHttpHandler { UseProxy = false });
    private ServerProcess? _process;

    private Application() => _nginx = new WebServerProcess(_folder.Path);

    private string Published => Path.Combine(_folder.Path, "published");

    /// <summary>Creates the application.</summary>
    /// <param name="usesFeedAlone">Whether to restore only from the feed.</param>
    /// <param name="template">The template and its options.</param>
    public static async Task<Application> CreateAsync(bool usesFeedAlone, params string[] template)
    {
        var key = string.Join(' ', [usesFeedAlone ? "alone" : "", .. template]);
        var made = await s_made.GetOrAdd(
            key,
            _ => new(() => MakeAsync(usesFeedAlone, template, $"made-{Interlocked.Increment(ref s_count)}"))).Value;
        var application = new Application();
        foreach (var file in Directory.EnumerateFiles(made, "*", SearchOption.AllDirectories))
        {
            var copy = Path.Combine(application._folder.Path, Path.GetRelativePath(made, file));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(file, copy);
        }

        return application;
    }

    /// <summary>Adds to the project file.</summary>
    public async Task AddToProjectAsync(string text)
    {
        var project = Directory.GetFiles(_folder.Path, "*.*proj").Single();
        await File.WriteAllTextAsync(project, (await File.ReadAllTextAsync(project)).Replace(
            "</Project>", text + "</Project>"));
    }

    /// <summary>The runtime configuration of the published application, as text; null if it has none.</summary>
    public async Task<string?> ReadRuntimeOptionAsync(string name)
    {
        using var configuration = JsonDocument.Parse(
            await File.ReadAllTextAsync(Path.Combine(Published, Name + ".runtimeconfig.json")));
        var options = configuration.RootElement.GetProperty("runtimeOptions").GetProperty("configProperties");
        return options.TryGetProperty(name, out var value) ? value.ToString() : null;
    }

    /// <summary>Publishes the application.</summary>
    /// <returns>The output of the command.</returns>
    public async Task<string> PublishAsync(params string[] arguments)
        => await DotnetCommand.RunAsync(
            _folder.Path, ["publish", "-c", "Release", "-o", Published, "-p:NuGetAudit=false", .. arguments]);

    /// <summary>Starts the application, and nginx in front of it.</summary>
    public async Task StartAsync()
    {
        var program = Path.Combine(Published, Name);
        string[] command = File.Exists(program + ".dll") && !File.Exists(Path.Combine(Published, "libcoreclr.so"))
            ? ["dotnet", program + ".dll"]
            : [program];
        _process = ServerProcess.Start(
            "sh",
            [
                "-c", "cd \"$1\"; shift; umask 0; exec \"$@\"", "sh", Published, .. command, "--urls",
                $"fastcgi://unix:{_folder.Path}/app.sock",
            ]);
        var configuration = await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "nginx.conf"));
        await File.WriteAllTextAsync(
            Path.Combine(_folder.Path, "nginx.conf"),
            configuration.Replace("{{port}}", $"{_nginx.EndPoint.Port}")
                .Replace("{{folder}}", _folder.Path));
        await _nginx.StartAsync("nginx", ["-p", _folder.Path, "-c", "nginx.conf", "-e", "error.log"]);
        await _process.WaitForOutputAsync("Application started.");
    }

    /// <summary>Gets a page through nginx.</summary>
    public async Task<string> GetAsync(string path)
    {
        using var response = await _client.GetAsync(new Uri($"http://{_nginx.EndPoint}{path}"))
            .WaitAsync(Waiting.Patience);
        var text = await response.Content.ReadAsStringAsync();
        Assert.True(response.IsSuccessStatusCode, $"{response.StatusCode}\n{text}\n{_process!.Output}");
        return text;
    }

    /// <summary>
    /// The file of an assembly that the running application has loaded, relative to the published folder.
    /// </summary>
    public string FindLoadedAssembly(string name)
    {
        var maps = Directory.GetDirectories("/proc")
            .Select(static folder => Path.Combine(folder, "maps"))
            .SelectMany(ReadLines);
        var line = maps.First(
            line => line.EndsWith($"/{name}.dll", StringComparison.Ordinal)
                && line.Contains(Published));
        return line[(line.IndexOf(Published, StringComparison.Ordinal) + Published.Length + 1)..];
    }

    public async ValueTask DisposeAsync()
    {
        await _nginx.DisposeAsync();
        if (_process is not null)
            await _process.DisposeAsync();
        _client.Dispose();
        _folder.Dispose();
    }

    /// <summary>Processes may end during the search, and some cannot be read.</summary>
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

    private static async Task<string> MakeAsync(bool usesFeedAlone, string[] template, string name)
    {
        var feed = await PackageFeed.Instance;
        var folder = Directory.CreateDirectory(feed.GetFolder(name)).FullName;
        await File.WriteAllTextAsync(
            Path.Combine(folder, "nuget.config"),
            $"""
            <configuration><packageSources>
            {(usesFeedAlone ? "<clear />" : "")}<add key="feed" value="{feed.Path}" />
            </packageSources></configuration>
            """);
        await DotnetCommand.RunAsync(folder, ["new", .. template, "--name", Name, "--output", folder, "--no-restore"]);
        await DotnetCommand.RunAsync(
            folder, "add", "package", "FastCgi.AspNetCore", "--version", PackageFeed.Version, "--no-restore");
        await AddServerAsync(folder);
        return folder;
    }

    private static async Task AddServerAsync(string folder)
    {
        var program = Directory.GetFiles(folder, "Program.*").Single();
        var (line, added) = program.EndsWith(".fs", StringComparison.Ordinal)
            ? (
                "    let builder = WebApplication.CreateBuilder(args)\n",
                "    Microsoft.AspNetCore.Hosting.WebHostBuilderFastCgiExtensions.UseFastCgi(builder.WebHost) |> "
                    + "ignore\n")
            : ("var builder = WebApplication.CreateBuilder(args);\n", "builder.WebHost.UseFastCgi();\n");
        var text = (await File.ReadAllTextAsync(program)).ReplaceLineEndings("\n");
        Assert.Contains(line, text);
        await File.WriteAllTextAsync(program, text.Replace(line, line + added));
    }
}
