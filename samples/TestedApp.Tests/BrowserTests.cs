using Microsoft.AspNetCore.Mvc.Testing;
using Xunit;

namespace TestedApp.Tests;

/// <summary>Tests through a real port, as a browser needs it: <c>UseKestrel</c> of the factory works as well.</summary>
public sealed class BrowserTests
{
    [Fact]
    public async Task Client_OverHttp_IsLocal()
    {
        using var factory = new WebApplicationFactory<Program>();
        factory.UseKestrel(0);
        factory.StartServer();
        using var client = factory.CreateClient();

        Assert.Equal("127.0.0.1", client.BaseAddress?.Host);
        Assert.StartsWith("http ", await client.GetStringAsync("/client"), StringComparison.Ordinal);
    }
}
