namespace FastCgi.AspNetCore.PackageTests;

/// <summary>A fact that runs commands on a virtual machine with its own mounts and network.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class MachineFactAttribute : FactAttribute
{
    public override string? Skip { get; set; } = ExternalProgram.FindObstacle(
        "unshare, or ip, is not allowed here",
        "unshare", "--mount", "--net", "--pid", "--fork", "ip", "link", "set", "lo", "up");
}
