using Microsoft.AspNetCore.TestHost;

namespace FastCgi.AspNetCore.SocketTests.Hosting;

/// <summary>A test server replaces <c>UseFastCgi</c> in tests of an application.</summary>
[Collection(Alone.Name)]
public sealed class TestHostTests
{
    [Fact]
    [Contract("T20")]
    public async Task UseTestServer_OverAnApplicationBuilder_TakesTheRequests()
    {
        // Tests run even with a configuration that cannot be bound.
        var builder = WebApplication.CreateBuilder(
            ["--FastCgi:Endpoints:Main:Url", "fastcgi://fd:12345", "--urls", "fastcgi://192.0.2.1:9000"]);
        builder.WebHost.UseFastCgi();
        builder.WebHost.UseTestServer();
        await using var app = builder.Build();
        app.MapGet("/", static () => "Hello");
        await app.StartAsync();

        using var client = app.GetTestClient();

        Assert.Equal("Hello", await client.GetStringAsync("/"));
        Assert.IsType<TestServer>(app.Services.GetRequiredService<IServer>());
    }
}
