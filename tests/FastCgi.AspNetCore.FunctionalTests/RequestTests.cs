using System.Net;
using FastCgi.AspNetCore.FunctionalTests.FrontEnds;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Xunit.Abstractions;

namespace FastCgi.AspNetCore.FunctionalTests;

/// <summary>What the application sees of a request.</summary>
public sealed class RequestTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd]
    public async Task Get_WithQuery_ReachesTheApplication(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/greet", (string name) => $"Hello, {name}"));

        Assert.Equal("Hello, you & me", await site.Client.GetStringAsync("/greet?name=you+%26+me"));
    }
}
