using Xunit;

namespace FastCgi.AspNetCore.Testing;

/// <summary>A theory that holds for an ordinary user only. tests/run.sh runs its project as one too.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class OrdinaryUserTheoryAttribute : TheoryAttribute
{
    public override string? Skip { get; set; } = Environment.IsPrivilegedProcess ? "Needs an ordinary user: root may do what the test wants to be refused." : null;
}
