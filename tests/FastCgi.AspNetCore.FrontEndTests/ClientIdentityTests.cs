using System.Net;
using System.Threading.RateLimiting;
using Microsoft.AspNetCore.HttpsPolicy;
using Microsoft.AspNetCore.RateLimiting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.FrontEndTests;

/// <summary>What needs to know who the client is and how it came works with no set-up, for the web server tells.</summary>
public sealed class ClientIdentityTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd]
    public async Task HttpsRedirection_OverTls_DoesNothingAndElseRedirects(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app =>
        {
            app.UseMiddleware<HttpsRedirectionMiddleware>(Options.Create(new HttpsRedirectionOptions { HttpsPort = 443 }));
            app.MapGet("/a", () => "secure");
        });

        using var response = await site.Client.GetAsync("/a?b");

        Assert.Equal(setup.UsesTls ? HttpStatusCode.OK : HttpStatusCode.TemporaryRedirect, response.StatusCode);
        Assert.Equal(setup.UsesTls ? null : "https://127.0.0.1/a?b", response.Headers.Location?.OriginalString);
    }

    [Theory, EveryFrontEnd]
    public async Task RateLimit_ByClientAddress_ForgedAddressChangesNothing(FrontEndSetup setup)
    {
        var site = await StartAsync(
            setup,
            app =>
            {
                app.UseRateLimiter(new RateLimiterOptions
                {
                    GlobalLimiter = PartitionedRateLimiter.Create<HttpContext, IPAddress>(context => RateLimitPartition.GetFixedWindowLimiter(
                        context.Connection.RemoteIpAddress!, _ => new() { PermitLimit = 1, Window = TimeSpan.FromDays(1) })),
                    RejectionStatusCode = StatusCodes.Status429TooManyRequests,
                });
                app.MapGet("/", () => "within the limit");
            },
            configureBuilder: builder => builder.Services.AddRateLimiter(_ => { }));
        using var other = site.CreateClient(clientCertificate: null, IPAddress.Parse("127.0.0.2"));

        Assert.Equal(HttpStatusCode.OK, await GetStatusAsync(site.Client, "192.0.2.1"));
        Assert.Equal(HttpStatusCode.TooManyRequests, await GetStatusAsync(site.Client, "192.0.2.2"));
        Assert.Equal(HttpStatusCode.OK, await GetStatusAsync(other, "192.0.2.2"));
    }

    [Theory, EveryFrontEnd(IsTls = true, Needs = [Ability.ClientCertificate])]
    public async Task ClientCertificate_ShownOrNot_IsSeenUnchanged(FrontEndSetup setup)
    {
        var site = await StartAsync(setup, app => app.MapGet("/", async (HttpContext context) =>
            (await context.Connection.GetClientCertificateAsync())?.GetCertHashString() ?? "none"));
        using var client = site.CreateClient(TestCertificates.Client);

        Assert.Equal(TestCertificates.Client.GetCertHashString(), await client.GetStringAsync("/"));
        Assert.Equal("none", await site.Client.GetStringAsync("/"));
    }

    private static async Task<HttpStatusCode> GetStatusAsync(HttpClient client, string forgedAddress)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, "/");
        request.Headers.Add("X-Forwarded-For", forgedAddress);
        using var response = await client.SendAsync(request);
        return response.StatusCode;
    }
}
