using FastCgi.AspNetCore.UnitTests;

namespace FastCgi.Client.Tests;

/// <summary>As in the tests of the server: a change of the file is a decision.</summary>
public sealed class PublicApiTests
{
    [Fact]
    public void PublicMembers_AreThoseOfTheFile()
        => PublicApi.AssertIs(typeof(FastCgiHttpHandler).Assembly, "tests/FastCgi.Client.Tests/PublicApi.txt");
}
