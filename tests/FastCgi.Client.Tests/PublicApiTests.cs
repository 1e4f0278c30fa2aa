using FastCgi.AspNetCore.UnitTests;

namespace FastCgi.Client.Tests;

/// <summary>As for the server, a change of the public API must be intended.</summary>
public sealed class PublicApiTests
{
    [Fact]
    public void PublicMembers_Each_IsInTheFile()
        => PublicApi.AssertIs(typeof(FastCgiHttpHandler).Assembly, "tests/FastCgi.Client.Tests/PublicApi.txt");
}
