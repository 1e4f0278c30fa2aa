namespace FastCgi.Tool.Commands.Doctor;

internal static class SystemCommand
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(10);

    // The search path of ordinary users lacks the folders of servers.
    private static readonly string[] s_folders = ["", "/usr/sbin", "/usr/local/sbin", "/sbin"];

    /// <returns>The exit code, standard error and standard output; null if missing or endless.</returns>
    public static (int Code, string Error, string Output)? Run(string command, params string[] arguments)
    {
        foreach (var folder in s_folders)
        {
            var start = new ProcessStartInfo(Path.Combine(folder, command), arguments)
            {
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                Environment = { ["LC_ALL"] = "C" }
            };
            try
            {
                using var process = Process.Start(start)!;
                process.StandardInput.Close();
                var (error, output) = (process.StandardError.ReadToEndAsync(), process.StandardOutput.ReadToEndAsync());
                if (Task.WaitAll([error, output], s_timeout) && process.WaitForExit(s_timeout))
                    return (process.ExitCode, error.Result, output.Result);

                process.Kill(entireProcessTree: true);
                return null;
            }
            catch (System.ComponentModel.Win32Exception)
            {
                // The program is not in this folder.
            }
        }

        return null;
    }

    /// <returns>The standard output; empty if the command fails or is missing.</returns>
    public static string Read(string command, params string[] arguments)
        => Run(command, arguments) is (0, _, var output) ? output.TrimEnd('\n') : "";
}
