namespace FastCgi.Tool.Tests.Harness;

/// <summary>A process of .NET that listens on a socket, and passes what comes to an application: the tool's own <c>record</c>.</summary>
internal static class Relay
{
    public static string Tool { get; } = Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll");

    /// <param name="socket">The path to listen on.</param>
    /// <param name="application">The address of the application.</param>
    /// <param name="prefix">What the shell does before, such as <c>unset HOME;</c>.</param>
    public static async Task<ServerProcess> StartAsync(string socket, string application, string prefix = "")
    {
        var process = ServerProcess.Start("bash", ["-c", $"{prefix} exec dotnet {Tool} record --listen {socket} --to {application} -o {socket}.jsonl"]);
        await Waiting.UntilAsync(() => Task.FromResult(File.Exists(socket)), () => process.HasExited ? process.Output : null, socket);
        return process;
    }
}
