using System.Net;
using System.Net.Http.Json;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Mvc.Testing;
using Microsoft.AspNetCore.TestHost;
using Microsoft.Extensions.DependencyInjection;
using Xunit;

namespace TestedApp.Tests;

/// <summary>
/// Tests as Microsoft's documentation shows them: nothing in them knows of FastCGI, and no socket of it is opened.
/// </summary>
public sealed class ApplicationTests(
    WebApplicationFactory<Program> factory) : IClassFixture<WebApplicationFactory<Program>>
{
    [Fact]
    public async Task Notes_Posted_AreListed()
    {
        using var client = factory.CreateClient();

        using var created = await client.PostAsJsonAsync("/notes", new { text = "Buy milk" });

        Assert.Equal(HttpStatusCode.Created, created.StatusCode);
        Assert.Equal("/notes", created.Headers.Location?.OriginalString);
        Assert.Contains("Buy milk", await client.GetFromJsonAsync<string[]>("/notes") ?? []);
    }

    [Fact]
    public async Task Notes_WithoutText_AreRefused()
    {
        using var client = factory.CreateClient();

        using var refused = await client.PostAsJsonAsync("/notes", new { text = "" });

        Assert.Equal(HttpStatusCode.BadRequest, refused.StatusCode);
        Assert.Equal("application/problem+json", refused.Content.Headers.ContentType?.MediaType);
    }

    [Theory]
    [InlineData(9, "Good morning")]
    [InlineData(15, "Good day")]
    public async Task Greeting_FollowsTheTime(int hour, string expected)
    {
        using var configured = factory.WithWebHostBuilder(
            web => web.ConfigureTestServices(services => services.AddSingleton<TimeProvider>(new StoppedClock(hour))));
        using var client = configured.CreateClient();

        Assert.Equal(expected, await client.GetStringAsync("/greeting"));
    }

    [Fact]
    public async Task Scheme_IsThatOfTheClient()
    {
        using var client = factory.CreateClient(
            new WebApplicationFactoryClientOptions { BaseAddress = new Uri("https://localhost") });

        Assert.StartsWith("https ", await client.GetStringAsync("/client"), StringComparison.Ordinal);
    }

    private sealed class StoppedClock(int hour) : TimeProvider
    {
        public override DateTimeOffset GetUtcNow() => new(2026, 1, 2, hour, 0, 0, TimeSpan.Zero);
    }
}
