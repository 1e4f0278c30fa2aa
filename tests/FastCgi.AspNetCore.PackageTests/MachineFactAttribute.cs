namespace FastCgi.AspNetCore.PackageTests;

/// <summary>A fact that runs commands on a virtual machine with its own mounts and network.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class MachineFactAttribute : FactAttribute
{
    public override string? Skip { get; set; } = FindObstacle();

    private static string? FindObstacle()
    {
        using var process = Process.Start(
            new ProcessStartInfo("unshare", ["--mount", "--net", "--pid", "--fork", "ip", "link", "set", "lo", "up"])
            {
                RedirectStandardError = true,
            })!;
        process.WaitForExit();
        return process.ExitCode == 0
            ? null
            : "unshare, or ip, is not allowed here: " + process.StandardError.ReadToEnd().Trim();
    }
}
