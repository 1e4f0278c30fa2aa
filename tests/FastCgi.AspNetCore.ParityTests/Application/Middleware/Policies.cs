using System.Threading.RateLimiting;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>
/// What the framework decides by the client, the scheme or the time, before or instead of an endpoint.
/// </summary>
internal static class Policies
{
    private const string Limited = "by address";

    public static void AddPolicies(this IServiceCollection services)
    {
        services.AddCors(options => options.AddPolicy("partner", policy => policy
            .WithOrigins("https://partner.example").WithMethods(
                "GET", "PUT").WithHeaders("X-Custom").WithExposedHeaders("X-Exposed").AllowCredentials()));
        services.AddRateLimiter(options =>
        {
            options.RejectionStatusCode = StatusCodes.Status429TooManyRequests;
            options.AddPolicy(Limited, context => RateLimitPartition.GetFixedWindowLimiter(
                $"{context.Connection.RemoteIpAddress}",
                _ => new FixedWindowRateLimiterOptions { PermitLimit = 2, Window = TimeSpan.FromDays(1) }));
        });
        services.AddRequestTimeouts();
        services.AddHttpsRedirection(options => options.HttpsPort = 443);
        services.AddHsts(options =>
        {
            options.MaxAge = TimeSpan.FromDays(100);
            options.IncludeSubDomains = true;
        });
    }

    public static void MapPolicies(this WebApplication app)
    {
        app.Map(
            "/only-https",
            branch => branch.UseHttpsRedirection().Run(context => context.Response.WriteAsync("by https")));

        app.MapGet("/cors", (HttpResponse response) =>
        {
            response.Headers["X-Exposed"] = "yes";
            return "cors";
        }).RequireCors("partner");
        app.MapPut("/cors", () => "put").RequireCors("partner");

        app.MapGet("/limited", (HttpContext context) => $"for {context.Connection.RemoteIpAddress}")
            .RequireRateLimiting(Limited);

        app.MapGet("/slow", (HttpContext context) => WaitForeverAsync(context.RequestAborted))
            .WithRequestTimeout(TimeSpan.FromMilliseconds(50));

        app.MapGet("/links", (HttpContext context, LinkGenerator links)
            => $"{context.Request.PathBase} {links.GetPathByPage(context, "/Contact")} "
                + $"{links.GetUriByAction(context, "Show", "Guestbook")}");
    }

    private static async Task WaitForeverAsync(CancellationToken aborted)
    {
        var never = new TaskCompletionSource();
        await using var registration = aborted.Register(() => never.TrySetCanceled(aborted));
        await never.Task;
    }
}
