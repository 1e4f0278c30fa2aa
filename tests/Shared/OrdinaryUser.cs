using Xunit;

namespace FastCgi.AspNetCore.Testing;

/// <summary>Why tests are skipped. CI runs them as root and as an ordinary user.</summary>
internal static class User
{
    public static string? SkipIfRoot => Environment.IsPrivilegedProcess ? "Needs an ordinary user: root may do what the test wants to be refused." : null;

    public static string? SkipUnlessRoot => Environment.IsPrivilegedProcess ? null : "Needs root: an ordinary user may not do what the test does.";
}

/// <summary>A test that holds for an ordinary user only.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class OrdinaryUserTheoryAttribute : TheoryAttribute
{
    public override string? Skip { get => User.SkipIfRoot; set => base.Skip = value; }
}

/// <summary>A test that only root can run.</summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class RootFactAttribute : FactAttribute
{
    public override string? Skip { get => User.SkipUnlessRoot; set => base.Skip = value; }
}
