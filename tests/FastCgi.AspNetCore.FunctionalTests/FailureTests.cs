using System.Net;
using FastCgi.AspNetCore.FunctionalTests.Application;
using FastCgi.AspNetCore.FunctionalTests.FrontEnds;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Xunit.Abstractions;

namespace FastCgi.AspNetCore.FunctionalTests;

/// <summary>The application fails.</summary>
public sealed class FailureTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd]
    public async Task Exception_BeforeTheResponseStarted_IsAnEmpty500AndTheNextRequestIsServed(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app =>
        {
            app.MapGet("/fail", (HttpResponse response) =>
            {
                response.Headers["X-Leftover"] = "of the failed response";
                throw new InvalidOperationException("This handler fails.");
            });
            app.MapGet("/", () => "served");
        });
        site.Log.ExpectError("ApplicationError");

        using var failed = await site.Client.GetAsync("/fail");
        var next = await site.Client.GetStringAsync("/");

        Assert.Equal(HttpStatusCode.InternalServerError, failed.StatusCode);
        Assert.False(failed.Headers.Contains("X-Leftover"));
        Assert.Empty(await failed.Content.ReadAsByteArrayAsync());
        Assert.Equal("served", next);
    }

    [Theory]
    [EveryFrontEnd]
    [EveryFrontEnd(StreamsResponses = true)]
    public async Task Exception_AfterTheResponseStarted_WithContentLength_ClientSeesAFailure(FrontEndSetup setup)
        => await AssertSeenAsFailureAsync(setup, contentLength: 1000);

    private async Task AssertSeenAsFailureAsync(FrontEndSetup setup, long? contentLength)
    {
        ExpectsFrontEndErrors = true;
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpResponse response) =>
        {
            response.ContentLength = contentLength;
            await response.WriteAsync("part of it");
            await response.Body.FlushAsync();
            throw new InvalidOperationException("This handler fails.");
        }));
        site.Log.ExpectError("ApplicationError");

        var (exitCode, body) = await ExternalProgram.RunAsync("curl", "-sS", "--fail", "--max-time", "30", site.Url + "/");

        Assert.True(exitCode is 18 or 22 or 52 or 56, $"curl ended with {exitCode} and shows: {body}");
    }
}
