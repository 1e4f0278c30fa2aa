using FastCgi.AspNetCore.ParityTests.Comparison;
using FastCgi.AspNetCore.ParityTests.Http;
using FastCgi.AspNetCore.ParityTests.Sites;

namespace FastCgi.AspNetCore.ParityTests;

public sealed class MinimalApiTests(ParitySites sites) : ParityTest(sites)
{
    [Fact]
    public Task Get_Text_IsTheSame() => CompareAsync(client => client.GetAsync("/results/text"));
}
