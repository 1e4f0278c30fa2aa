namespace FastCgi.AspNetCore.UnitTests;

/// <summary>
/// The public API matches <c>PublicApi.txt</c>. If a change is intended, check the printed difference, and replace the
/// old file with the one that this test has written.
/// </summary>
public sealed class PublicApiTests
{
    [Fact]
    public void PublicMembers_Each_IsInTheFile()
        => PublicApi.AssertIs(
            typeof(FastCgiServerOptions).Assembly, "tests/FastCgi.AspNetCore.UnitTests/PublicApi.txt");
}
