namespace FastCgi.AspNetCore.ProcessTests.Harness;

/// <summary>A run of the sample application in a separate process.</summary>
internal sealed class AppProcess : IAsyncDisposable
{
    private readonly ServerProcess _process;
    private readonly int _id;

    private AppProcess(ServerProcess process, int id)
    {
        _process = process;
        _id = id;
    }

    public string Output => _process.Output;

    /// <summary>Starts the application and waits until it has started.</summary>
    /// <param name="url">Where it listens.</param>
    /// <param name="arguments">Further settings.</param>
    public static Task<AppProcess> StartAsync(string url, params string[] arguments)
    {
        var program = GetProgram("MinimalApi");
        // Its settings are in the same folder.
        return StartProgramAsync(
            program, startCount: 1, ["--contentRoot", Path.GetDirectoryName(program)!, "--urls", url, .. arguments]);
    }

    public static string GetProgram(string sample)
        => Path.Combine(Repository.GetOutput($"samples/{sample}"), sample + ".dll");

    /// <summary>Starts a program and waits until all its applications have started.</summary>
    public static async Task<AppProcess> StartProgramAsync(
        string program, int startCount, IEnumerable<string> arguments)
    {
        // A shell makes background processes ignore SIGINT.
        string[] command = ["env", "--default-signal=INT", "dotnet", program, .. arguments];
        var process = ServerProcess.Start("sh", ["-c", "echo \"id $$\"; exec \"$@\"", "sh", .. command]);
        try
        {
            await process.WaitForOutputAsync("Application started.", startCount);
            var id = process.Output.Split('\n')
                .First(static line => line.StartsWith("id ", StringComparison.Ordinal))[3..];
            return new AppProcess(process, int.Parse(id, CultureInfo.InvariantCulture));
        }
        catch
        {
            await process.DisposeAsync();
            throw;
        }
    }

    public void Send(string signal) => Signal.Send(_id, signal);

    /// <summary>Sends a signal and waits until the application has ended.</summary>
    /// <returns>Its exit code.</returns>
    public async Task<int> EndAsync(string signal)
    {
        Send(signal);
        return await WaitForExitAsync();
    }

    /// <returns>The exit code.</returns>
    public Task<int> WaitForExitAsync() => _process.WaitForExitAsync(Waiting.Patience);

    public ValueTask DisposeAsync() => _process.DisposeAsync();
}
