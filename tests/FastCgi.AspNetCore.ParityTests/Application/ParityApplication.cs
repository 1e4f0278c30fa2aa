using FastCgi.AspNetCore.ParityTests.Application.Blazor;
using FastCgi.AspNetCore.ParityTests.Application.Middleware;
using FastCgi.AspNetCore.ParityTests.Application.MinimalApi;
using FastCgi.AspNetCore.ParityTests.Application.SignalR;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.HttpOverrides;

namespace FastCgi.AspNetCore.ParityTests.Application;

/// <summary>
/// An application with every kind of endpoint and the middleware that comes with the framework. It does not know which
/// server serves it, and keeps what Kestrel needs behind a proxy: forwarded headers and forwarded certificates.
/// </summary>
internal static class ParityApplication
{
    public static void ConfigureBuilder(WebApplicationBuilder builder)
    {
        builder.WebHost.UseStaticWebAssets();
        var services = builder.Services;
        services.AddDataProtection().PersistKeysToFileSystem(new DirectoryInfo(builder.Configuration["KeyFolder"]!));
        services.AddProblemDetails();
        services.AddHttpContextAccessor();
        services.Configure<ForwardedHeadersOptions>(options =>
        {
            options.ForwardedHeaders = ForwardedHeaders.XForwardedFor | ForwardedHeaders.XForwardedProto;
            // Only the web server's own address, and not that of the tests' clients.
            options.KnownIPNetworks.Clear();
            options.KnownProxies.Clear();
            options.KnownProxies.Add(IPAddress.Loopback);
        });

        services.AddControllersWithViews();
        services.AddRazorPages();
        services.AddRazorComponents();
        services.AddSignalR(options => options.MaximumParallelInvocationsPerClient = 2);
        services.AddCompression();
        services.AddCaching();
        services.AddSignIn();
        services.AddPolicies();
        services.AddLogs();
    }

    public static void ConfigureApplication(WebApplication app)
    {
        app.UseForwardedHeaders();
        app.UseCertificateForwarding();
        app.UseHttpLogging();
        app.UseExceptionHandler();
        app.UseHsts();
        app.UseCompression();
        app.UsePathBase("/base");
        app.UseFiles();
        app.UseResponseCaching();
        app.UseFailurePages();
        app.UseRouting();
        app.UseCors();
        app.UseRateLimiter();
        app.UseRequestTimeouts();
        app.UseSession();
        app.UseAuthentication();
        app.UseAuthorization();
        app.UseAntiforgery();
        app.UseOutputCache();

        app.MapControllers();
        app.MapRazorPages();
        app.MapRazorComponents<Shell>();
        app.MapHub<ChatHub>("/chat");
        app.MapResultEndpoints();
        app.MapEcho();
        app.MapBodyEndpoints();
        app.MapCaching();
        app.MapSignIn();
        app.MapPolicies();
        app.MapFailures();
        app.MapFiles();
        app.MapLogged();
    }
}
