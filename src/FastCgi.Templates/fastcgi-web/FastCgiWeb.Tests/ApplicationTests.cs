using Microsoft.AspNetCore.Mvc.Testing;
using Xunit;

public sealed class ApplicationTests(WebApplicationFactory<Program> factory) : IClassFixture<WebApplicationFactory<Program>>
{
    [Fact]
    public async Task Home_Greets()
    {
        using var client = factory.CreateClient();

        Assert.Equal("Hello World!", await client.GetStringAsync("/"));
    }
}
