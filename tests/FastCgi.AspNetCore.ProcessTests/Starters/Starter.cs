using System.Runtime.InteropServices;
using FastCgi.AspNetCore.ProcessTests.Faults;

namespace FastCgi.AspNetCore.ProcessTests.Starters;

/// <summary>A program that starts the application, which ends no later than that program.</summary>
internal sealed class Starter : IAsyncDisposable
{
    private readonly ServerProcess _process;

    private Starter(ServerProcess process)
    {
        _process = process;
    }

    /// <summary>The folder of the runtime, which may not be the usual one.</summary>
    public static string DotnetRoot { get; } = Path.GetFullPath(
        Path.Combine(RuntimeEnvironment.GetRuntimeDirectory(), "../../.."));

    /// <summary>The application's program.</summary>
    public static string Application { get; } = Path.Combine(AppContext.BaseDirectory, "ApplicationToStart");

    /// <summary>
    /// The engine that the tests use, if it is not the default: programs that start the application without the tests'
    /// environment get an argument that passes <c>APPLICATION_ENGINE</c>.
    /// </summary>
    public static string Engine { get; } = Environment.GetEnvironmentVariable(
        "APPLICATION_ENGINE") ?? nameof(ServerEngine.Epoll);

    /// <summary>The output of the program and the application.</summary>
    public string Output => _process.Output;

    /// <summary>
    /// Copies the application to <c>app</c> in a folder, because another user may be unable to read the tests' folder.
    /// </summary>
    /// <returns>The application's program.</returns>
    public static string CopyApplication(ScratchFolder folder)
    {
        var target = Directory.CreateDirectory(Path.Combine(folder.Path, "app")).FullName;
        foreach (var file in Directory.EnumerateFiles(AppContext.BaseDirectory, "ApplicationToStart*")
            .Append(typeof(FastCgiServerOptions).Assembly.Location))
            File.Copy(file, Path.Combine(target, Path.GetFileName(file)));
        return Path.Combine(target, "ApplicationToStart");
    }

    /// <summary>Starts a program by its name and arguments.</summary>
    public static Starter Start(params string[] command) => new(ServerProcess.Start(command[0], command[1..]));

    /// <summary>Starts a program with variables in its environment, <c>NAME=value</c>.</summary>
    public static Starter Start(string[] environment, params string[] command)
    {
        Programs.Require(command[0]);
        return Start(["env", .. environment, .. command]);
    }

    /// <summary>Starts the application as a systemd socket unit does, at its first connection.</summary>
    /// <param name="engine">The engine it runs on.</param>
    /// <param name="sockets">The arguments that say where to listen.</param>
    public static Starter StartBySystemd(string engine, params string[] sockets)
        => Start(
            [
                "systemd-socket-activate", .. sockets, "-E", "APPLICATION_ENGINE=" + engine, "-E",
                "DOTNET_ROOT=" + DotnetRoot, Application,
            ]);

    public Task<string> GetAsync(EndPoint endPoint, string uri)
        => WhenListeningAsync(() => FastCgiClient.GetAsync(endPoint, uri));

    /// <summary>Gets a resource through a web server as soon as it listens.</summary>
    public async Task<string> GetAsync(Uri uri)
    {
        using var client = new HttpClient { Timeout = Waiting.Patience };
        return await WhenListeningAsync(() => client.GetStringAsync(uri));
    }

    public async Task<int> GetProcessAsync(EndPoint endPoint)
        => int.Parse(await GetAsync(endPoint, "/process"), CultureInfo.InvariantCulture);

    /// <summary>Waits until the output contains a text.</summary>
    public Task WaitForOutputAsync(string text)
        => Waiting.FindAsync(() => Task.FromResult(Output.Contains(text) ? Output : null),
            () => $"'{text}' is not in:\n{Output}");

    /// <summary>Waits until it ends.</summary>
    /// <returns>Its exit code.</returns>
    public Task<int> WaitForExitAsync() => _process.WaitForExitAsync(Waiting.Patience);

    public ValueTask DisposeAsync() => _process.DisposeAsync();

    /// <summary>Retries until the application listens.</summary>
    public Task<string> WhenListeningAsync(Func<Task<string>> getAsync)
        => Waiting.FindAsync(
            async () =>
            {
                try
                {
                    return await getAsync();
                }
                catch (Exception exception) when (
                    (exception as SocketException ?? exception.InnerException) is SocketException
                        && !_process.HasExited)
                {
                    return null;
                }
            },
            () => $"Nobody listens. The starter says:\n{Output}");
}
