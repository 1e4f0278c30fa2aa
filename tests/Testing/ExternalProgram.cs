namespace FastCgi.AspNetCore.Testing;

/// <summary>A program that is run to its end.</summary>
public static class ExternalProgram
{
    /// <returns>The exit code, and what it wrote to standard output and error.</returns>
    public static Task<(int ExitCode, string Output)> RunAsync(string program, params IEnumerable<string> arguments)
        => RunAsync(new ProcessStartInfo(Programs.Find(program), arguments));

    /// <param name="timeout">The maximum time to wait. The default is that for an event.</param>
    /// <returns>The exit code, and what it wrote to standard output and error.</returns>
    public static async Task<(int ExitCode, string Output)> RunAsync(
        ProcessStartInfo startInfo, TimeSpan? timeout = null)
    {
        startInfo.RedirectStandardOutput = startInfo.RedirectStandardError = true;
        using var process = Process.Start(startInfo)!;
        var output = process.StandardOutput.ReadToEndAsync();
        var error = process.StandardError.ReadToEndAsync();
        try
        {
            await process.WaitForExitAsync().WaitAsync(timeout ?? Waiting.Patience);
        }
        catch (TimeoutException)
        {
            process.Kill(entireProcessTree: true);
            throw;
        }

        return (process.ExitCode, await output + await error);
    }

    /// <returns>Why a program fails on this machine or for this user, or <see langword="null"/>.</returns>
    public static string? FindObstacle(string problem, string program, params string[] arguments)
    {
        var (exitCode, output) = Task.Run(() => RunAsync(new ProcessStartInfo(program, arguments)))
            .GetAwaiter().GetResult();
        return exitCode == 0 ? null : $"{problem}: {output.Trim()}";
    }
}
