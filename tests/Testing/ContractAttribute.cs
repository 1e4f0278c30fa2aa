namespace FastCgi.AspNetCore.Testing;

/// <summary>The statements of <c>tests/server-contract.md</c> that a test proves.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class ContractAttribute(params string[] ids) : Attribute
{
    public IReadOnlyList<string> Ids => ids;
}
