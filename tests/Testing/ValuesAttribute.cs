using Xunit.Sdk;

namespace FastCgi.AspNetCore.Testing;

/// <summary>Rows of a theory with one argument: each of the values.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class ValuesAttribute(params object[] values) : DataAttribute
{
    public override IEnumerable<object[]> GetData(MethodInfo testMethod)
        => values.Select(static value => new[] { value });
}
