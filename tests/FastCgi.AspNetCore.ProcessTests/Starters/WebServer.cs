using System.Globalization;
using System.Runtime.InteropServices;

namespace FastCgi.AspNetCore.ProcessTests.Starters;

/// <summary>A web server that starts the application itself, by one of the configurations beside this file.</summary>
internal sealed class WebServer : IAsyncDisposable
{
    private const UnixFileMode Everything = (UnixFileMode)0x1FF;

    // Where the runtime is that runs this: it lies in shared/Microsoft.NETCore.App/<version>.
    private static readonly string s_dotnet = Path.GetFullPath(Path.Combine(RuntimeEnvironment.GetRuntimeDirectory(), "../../.."));

    private readonly PortReservation _port;
    private readonly Starter _starter;

    private WebServer(PortReservation port, Starter starter)
    {
        _port = port;
        _starter = starter;
    }

    /// <summary>Where it listens.</summary>
    public Uri Address => new($"http://{_port.EndPoint}");

    /// <param name="folder">Where its files are.</param>
    /// <param name="configuration">The configuration.</param>
    /// <param name="command">The program and its arguments; the current folder is that of its files.</param>
    public static async Task<WebServer> StartAsync(ScratchFolder folder, string configuration, params string[] command)
        => await StartAsync(folder, configuration, await File.ReadAllTextAsync(Path.Combine(AppContext.BaseDirectory, "Starters", configuration)), command);

    /// <param name="folder">Where its files are.</param>
    /// <param name="configuration">The name of the configuration.</param>
    /// <param name="text">What stands in it.</param>
    /// <param name="command">The program and its arguments; the current folder is that of its files.</param>
    public static async Task<WebServer> StartAsync(ScratchFolder folder, string configuration, string text, string[] command)
    {
        var port = new PortReservation();
        text = text.Replace("{{port}}", port.EndPoint.Port.ToString(CultureInfo.InvariantCulture), StringComparison.Ordinal)
            .Replace("{{folder}}", folder.Path, StringComparison.Ordinal)
            .Replace("{{dotnet}}", s_dotnet, StringComparison.Ordinal)
            .Replace("{{user}}", Environment.UserName, StringComparison.Ordinal);
        CopyApplication(Path.Combine(folder.Path, "app"));
        Directory.CreateDirectory(Path.Combine(folder.Path, "run"));
        File.SetUnixFileMode(Path.Combine(folder.Path, "run"), Everything);
        await File.WriteAllTextAsync(Path.Combine(folder.Path, configuration), text);
        return new WebServer(port, Starter.Start(["env", "--chdir=" + folder.Path, .. command]));
    }

    /// <summary>A web server that root starts runs as a user who need not be able to read where the tests are.</summary>
    private static void CopyApplication(string folder)
    {
        Directory.CreateDirectory(folder);
        foreach (var file in Directory.EnumerateFiles(AppContext.BaseDirectory, "ApplicationToStart*").Append(typeof(FastCgiServerOptions).Assembly.Location))
            File.Copy(file, Path.Combine(folder, Path.GetFileName(file)));
    }

    public Task<string> GetAsync(string path) => _starter.GetAsync(new Uri(Address, path));

    public async ValueTask DisposeAsync()
    {
        await _starter.DisposeAsync();
        _port.Dispose();
    }
}
