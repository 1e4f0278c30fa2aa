using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Authentication;
using Microsoft.AspNetCore.Authentication.Cookies;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>Users by a cookie, and certificates of clients.</summary>
internal static class SignIn
{
    public static void AddSignIn(this IServiceCollection services)
    {
        services.AddAuthentication(CookieAuthenticationDefaults.AuthenticationScheme)
            .AddCookie(options => options.Cookie.Name = "user");
        services.AddCertificateForwarding(options =>
        {
            options.CertificateHeader = "X-Client-Cert";
            options.HeaderConverter = header => X509Certificate2.CreateFromPem(Uri.UnescapeDataString(header));
        });
        services.AddAuthorizationBuilder().AddPolicy("admin", policy => policy.RequireClaim(ClaimTypes.Role, "admin"));
    }

    public static void MapSignIn(this IEndpointRouteBuilder app)
    {
        app.MapPost("/sign-in", async (HttpContext context, string name, string? role) =>
        {
            var identity = new ClaimsIdentity(
                [new Claim(ClaimTypes.Name, name), new Claim(ClaimTypes.Role, role ?? "user")],
                CookieAuthenticationDefaults.AuthenticationScheme);
            await context.SignInAsync(new ClaimsPrincipal(identity));
        });
        app.MapPost("/sign-out", (HttpContext context) => context.SignOutAsync());
        app.MapGet("/me", (ClaimsPrincipal user) => user.Identity?.Name).RequireAuthorization();
        app.MapGet("/admin", () => "admin").RequireAuthorization("admin");
        app.MapGet("/certificate", async (HttpContext context) =>
        {
            var certificate = await context.Connection.GetClientCertificateAsync();
            return $"{certificate?.Subject} {certificate?.Thumbprint}";
        });
    }
}
