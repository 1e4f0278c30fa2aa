using System.Diagnostics;

namespace FastCgi.AspNetCore.FrontEndTests.Application;

/// <summary>A program that is run to its end: a client that shares no code with .NET.</summary>
internal static class ExternalProgram
{
    /// <returns>The exit code, and what it wrote to standard output and error.</returns>
    public static async Task<(int ExitCode, string Output)> RunAsync(string program, params string[] arguments)
    {
        var startInfo = new ProcessStartInfo(Programs.Find(program), arguments)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using var process = Process.Start(startInfo)!;
        var output = process.StandardOutput.ReadToEndAsync();
        var error = process.StandardError.ReadToEndAsync();
        try
        {
            await process.WaitForExitAsync().WaitAsync(FrontEndTest.Patience);
        }
        catch (TimeoutException)
        {
            process.Kill();
            throw;
        }

        return (process.ExitCode, await output + await error);
    }
}
