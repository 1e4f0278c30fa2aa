using System.Diagnostics;

namespace FastCgi.AspNetCore.ParityTests.SignalRClient;

/// <summary>SignalR's JavaScript client under Node, which runs <c>chat.js</c>.</summary>
public sealed class NodeClient : IAsyncLifetime
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromMinutes(2);
    private static readonly string s_folder = Path.Combine(AppContext.BaseDirectory, "SignalRClient");

    // npm writes this file last.
    private static readonly string s_installed = Path.Combine(s_folder, "node_modules", ".package-lock.json");

    // Once for all classes of tests: npm first removes what another may be using.
    private static readonly Lazy<Task> s_installation = new(InstallAsync);

    public Task InitializeAsync() => s_installation.Value;

    public Task DisposeAsync() => Task.CompletedTask;

    /// <summary>Runs the script.</summary>
    /// <param name="transport">
    /// The transport to use, or <see langword="null"/> for the best that the hub offers.
    /// </param>
    public static async Task<string> ChatAsync(IPEndPoint site, string? transport)
        => await RunAsync(
            "node",
            [
                Path.Combine(s_folder, "chat.js"), $"http://{site}/chat",
                .. (string[])(transport is null ? [] : [transport]),
            ]);

    private static async Task InstallAsync()
    {
        if (!File.Exists(s_installed))
            await RunAsync("npm", "ci", "--no-audit", "--no-fund", "--no-update-notifier");
    }

    private static async Task<string> RunAsync(string program, params string[] arguments)
    {
        var (exitCode, output) = await ExternalProgram.RunAsync(
            new ProcessStartInfo(Programs.Find(program), arguments)
            {
                WorkingDirectory = s_folder,
                Environment = { ["NODE_NO_WARNINGS"] = "1" },
            },
            s_timeout);
        return exitCode == 0 ? output : throw new InvalidOperationException($"{program}: {output}");
    }
}
