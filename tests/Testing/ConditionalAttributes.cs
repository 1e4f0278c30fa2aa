using Xunit;

namespace FastCgi.AspNetCore.Testing;

[AttributeUsage(AttributeTargets.Method)]
public sealed class RootFactAttribute : FactAttribute
{
    public override string? Skip { get; set; } = Conditions.NoRoot;
}

[AttributeUsage(AttributeTargets.Method)]
public sealed class RootTheoryAttribute : TheoryAttribute
{
    public override string? Skip { get; set; } = Conditions.NoRoot;
}

[AttributeUsage(AttributeTargets.Method)]
public sealed class LinuxTheoryAttribute : TheoryAttribute
{
    public override string? Skip { get; set; } = OperatingSystem.IsLinux() ? null : "Needs Linux.";
}

[AttributeUsage(AttributeTargets.Method)]
public sealed class LinuxFactAttribute : FactAttribute
{
    public override string? Skip { get; set; } = OperatingSystem.IsLinux() ? null : "Needs Linux.";
}

internal static class Conditions
{
    public static string? NoRoot { get; } = Environment.IsPrivilegedProcess ? null : "Needs root.";
}
