namespace FastCgi.Tool.Tests.Harness;

/// <summary>An application in a process of its own.</summary>
internal static class ApplicationProcess
{
    public static string Tool { get; } = Path.Combine(AppContext.BaseDirectory, "FastCgi.Tool.dll");

    public static string Application { get; } = Path.Combine(AppContext.BaseDirectory, "ApplicationToStart.dll");

    /// <param name="socket">The path to listen on.</param>
    /// <param name="prefix">A shell command that runs before, such as <c>unset HOME;</c>.</param>
    public static async Task<ServerProcess> StartAsync(string socket, string prefix = "")
    {
        var process = ServerProcess.Start(
            "bash", ["-c", $"{prefix} exec dotnet '{Application}' --urls 'fastcgi://unix:{socket}?mode=0666'"]);
        await Waiting.UntilAsync(
            () => Task.FromResult(IsListening(socket)), () => process.HasExited ? process.Output : null, socket);
        return process;
    }

    private static bool IsListening(string path)
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Connect(new UnixDomainSocketEndPoint(path));
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
