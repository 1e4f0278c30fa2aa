namespace FastCgi.AspNetCore.UnitTests;

/// <summary>
/// The public surface is what <c>PublicApi.txt</c> says. A change of it is a decision: look at the difference that this
/// test prints, and if it is meant, copy the file that it has written over the old one.
/// </summary>
public sealed class PublicApiTests
{
    [Fact]
    public void PublicMembers_AreThoseOfTheFile()
        => PublicApi.AssertIs(
            typeof(FastCgiServerOptions).Assembly, "tests/FastCgi.AspNetCore.UnitTests/PublicApi.txt");
}
