using System.Net;
using System.Threading.RateLimiting;
using Microsoft.AspNetCore.HttpsPolicy;
using Microsoft.AspNetCore.RateLimiting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.FunctionalTests;

/// <summary>Who the client is and how it came: told by the web server, and nothing that a client says changes it.</summary>
public sealed class IdentityTests(ITestOutputHelper output) : FrontEndTest(output)
{
    [Theory, EveryFrontEnd]
    public async Task Get_ForgedVariables_NothingIsBelieved(FrontEndSetup setup)
    {
        string[] names =
        [
            "Content_Length", "Https", "Path-Base", "Path-Info", "Proxy", "Remote-Addr", "Remote-User", "Request-Scheme", "Request-Uri", "Script-Name", "Server-Port",
            "SSL-Client-Cert", "SSL-Client-Verify", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Prefix", "X-Forwarded-Proto",
        ];
        var site = await StartAsync(setup, app => app.Run(context => context.Response.WriteAsync(string.Join(' ',
            context.Request.Scheme, context.Request.PathBase, context.Request.Path, context.Request.Host, context.Connection.RemoteIpAddress,
            context.User.Identity?.Name, context.Request.Headers["Proxy"], context.Connection.ClientCertificate, context.Request.ContentLength))));
        var truth = await site.Client.GetStringAsync("/");
        Assert.StartsWith($"{(setup.UsesTls ? "https" : "http")}  / {new Uri(site.Url).Authority} 127.0.0.1    ", truth, StringComparison.Ordinal);

        foreach (var name in names)
        {
            foreach (var spelling in (string[])[name, name.Replace('-', '_')])
            {
                using var request = new HttpRequestMessage(HttpMethod.Get, "/");
                request.Headers.Add(spelling, "https");
                using var response = await site.Client.SendAsync(request);
                Assert.Equal((spelling, truth), (spelling, await response.Content.ReadAsStringAsync()));
            }
        }
    }

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
            configureServices: services => services.AddRateLimiter(_ => { }));
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
