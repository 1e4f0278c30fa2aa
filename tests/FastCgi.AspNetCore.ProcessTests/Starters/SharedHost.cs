using System.Runtime.InteropServices;
using System.Text.Json;
using Microsoft.AspNetCore.Builder;

namespace FastCgi.AspNetCore.ProcessTests.Starters;

/// <summary>
/// Apache of a host, where ada owns only the files in her home: an application published with its runtime, and those of
/// the document.
/// </summary>
internal sealed class SharedHost : IAsyncDisposable
{
    private const string User = "20001";
    private const string Target = ".NETCoreApp,Version=v10.0/linux";
    private const string Library = "all/1.0.0";

    private static readonly string[] s_ownMounts = ["unshare", "--mount", "--propagation", "private"];

    private readonly ScratchFolder _folder = new();
    private SpawningServer? _server;

    /// <summary>The path of the application's folder in URLs.</summary>
    public static string Path => "/~ada/hello";

    public string Home => _folder.GetPath("home/ada");

    /// <summary>Her folder, from which Apache serves files.</summary>
    public string Public => System.IO.Path.Combine(Home, "public_html/hello");

    /// <summary>Apache's log.</summary>
    public string Log => File.ReadAllText(_folder.GetPath("error.log"));

    /// <returns>Why it cannot run here, or <see langword="null"/>.</returns>
    public static string? FindObstacle()
    {
        if (!Environment.IsPrivilegedProcess)
            return "Needs root.";
        return ExternalProgram.FindObstacle(
            "Mounts are not allowed here",
            s_ownMounts[0],
            [.. s_ownMounts[1..], "mount", "-t", "tmpfs", "tmpfs", "/var/log"]);
    }

    public static async Task<SharedHost> StartAsync()
    {
        var host = new SharedHost();
        try
        {
            Programs.Require("/usr/lib/apache2/suexec-pristine");
            Publish(Directory.CreateDirectory(System.IO.Path.Combine(host.Home, "hello")).FullName);
            host.Write(".htaccess", await DocumentBlock.ReadAsync("shared-hosting.md", "htaccess"));
            File.SetUnixFileMode(
                host.Write("hello.fcgi", await DocumentBlock.ReadAsync("shared-hosting.md", "wrapper")),
                UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
            host.Write("file.txt", "a file of Apache");
            host._server = await SpawningServer.StartAsync(
                host._folder,
                "shared-host.conf",
                [
                    .. s_ownMounts, "sh",
                    System.IO.Path.Combine(AppContext.BaseDirectory, "Starters/shared-host.sh"), User,
                ]);
            return host;
        }
        catch
        {
            await host.DisposeAsync();
            throw;
        }
    }

    public Task<string> GetAsync(string path) => _server!.GetAsync(Path + path);

    public Task<HttpResponseMessage> SendAsync(HttpMethod method, string path, byte[]? body = null)
        => SendAsync(new HttpRequestMessage(method, Path + path) { Content = new ByteArrayContent(body ?? []) });

    public async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request)
    {
        using var handler = new SocketsHttpHandler { AllowAutoRedirect = false };
        using var client = new HttpClient(handler) { BaseAddress = _server!.Address, Timeout = Waiting.Patience };
        return await client.SendAsync(request);
    }

    public async Task<int> GetProcessAsync()
        => int.Parse(await GetAsync("/process"), CultureInfo.InvariantCulture);

    /// <summary>Runs commands as ada.</summary>
    public async Task RunAsync(string commands)
    {
        await using var shell = ServerProcess.Start(
            "setpriv",
            ["--reuid", User, "--regid", User, "--clear-groups", "env", "HOME=" + Home, "sh", "-ec", commands]);
        Assert.True(await shell.WaitForExitAsync(Waiting.Patience) == 0, shell.Output);
    }

    public async ValueTask DisposeAsync()
    {
        if (_server is not null)
            await _server.DisposeAsync();
        _folder.Dispose();
    }

    private string Write(string name, string text)
        => _folder.Write(System.IO.Path.Combine(Public, name), Encoding.UTF8.GetBytes(text + "\n"));

    /// <summary>
    /// Has the result of a self-contained publish, without its time: the application's files, those of the runtime, and
    /// two files that list both.
    /// </summary>
    private static void Publish(string folder)
    {
        var runtime = RuntimeEnvironment.GetRuntimeDirectory();
        var web = System.IO.Path.GetDirectoryName(typeof(IApplicationBuilder).Assembly.Location)!;
        var fxr = System.IO.Path.Combine(Starter.DotnetRoot, "host/fxr", Environment.Version.ToString());
        foreach (var file in new[] { runtime, web, fxr }.SelectMany(Directory.EnumerateFiles)
            .Where(static file => System.IO.Path.GetExtension(file) is ".dll" or ".so")
            .Append(Starter.Application + ".dll")
            .Append(typeof(FastCgiServerOptions).Assembly.Location))
            File.Copy(file, System.IO.Path.Combine(folder, System.IO.Path.GetFileName(file)));
        File.Copy(Starter.Application, System.IO.Path.Combine(folder, "hello"));
        var files = Directory.GetFiles(folder).Select(System.IO.Path.GetFileName).ToLookup(System.IO.Path.GetExtension);
        var assets = new
        {
            runtime = files[".dll"].ToDictionary(static file => file!, static _ => new object()),
            native = files[".so"].ToDictionary(static file => file!, static _ => new object()),
        };
        Write("deps", new
        {
            runtimeTarget = new { name = Target },
            targets = new Dictionary<string, object>
            {
                [Target] = new Dictionary<string, object> { [Library] = assets },
            },
            libraries = new Dictionary<string, object>
            {
                [Library] = new { type = "project", serviceable = false, sha512 = "" },
            },
        });
        Write("runtimeconfig", new
        {
            runtimeOptions = new
            {
                includedFrameworks = new[] { "Microsoft.NETCore.App", "Microsoft.AspNetCore.App" }
                    .Select(static name => new { name, version = $"{Environment.Version}" }),
            },
        });

        void Write(string kind, object content)
            => File.WriteAllText(
                System.IO.Path.Combine(folder, $"ApplicationToStart.{kind}.json"), JsonSerializer.Serialize(content));
    }
}

/// <summary>Skips the test where <see cref="SharedHost"/> cannot run.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class SharedHostFactAttribute : FactAttribute
{
    public override string? Skip { get; set; } = SharedHost.FindObstacle();
}
