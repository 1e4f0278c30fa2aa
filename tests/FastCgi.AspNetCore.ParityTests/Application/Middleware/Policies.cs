using System.Threading.RateLimiting;
using Microsoft.AspNetCore.Http.Timeouts;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>
/// What the framework decides before or instead of an endpoint: CORS, rate limits, timeouts, health, https and the
/// culture.
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
        services.AddRequestTimeouts(options => options.AddPolicy(
            "short",
            new RequestTimeoutPolicy
            {
                Timeout = TimeSpan.FromMilliseconds(50),
                TimeoutStatusCode = StatusCodes.Status503ServiceUnavailable,
            }));
        services.AddHealthChecks()
            .AddCheck("good", () => HealthCheckResult.Healthy(), tags: ["good"])
            .AddCheck("bad", () => HealthCheckResult.Unhealthy("It is bad."), tags: ["bad"]);
        services.AddHttpsRedirection(options => options.HttpsPort = 443);
        services.AddHsts(options =>
        {
            options.MaxAge = TimeSpan.FromDays(100);
            options.IncludeSubDomains = true;
        });
        services.AddLocalization();
    }

    public static void UseCultures(this IApplicationBuilder app)
        => app.UseRequestLocalization("en-US", "de-DE", "tr-TR");

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
        app.MapGet("/slow/policy", (HttpContext context) => WaitForeverAsync(context.RequestAborted))
            .WithRequestTimeout("short");
        app.MapGet("/slow/disabled", async (HttpContext context) =>
        {
            // The time of the policy passes, and of another one that fires.
            context.Features.GetRequiredFeature<IHttpRequestTimeoutFeature>().DisableTimeout();
            using var later = new CancellationTokenSource(TimeSpan.FromMilliseconds(150));
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => WaitForeverAsync(later.Token));
            return $"in its own time: {context.RequestAborted.IsCancellationRequested}";
        }).WithRequestTimeout("short");
        app.MapGet("/quick", () => "in time").WithRequestTimeout(TimeSpan.FromMinutes(1));

        app.MapHealthChecks("/health/good", new() { Predicate = check => check.Tags.Contains("good") });
        app.MapHealthChecks("/health/bad", new() { Predicate = check => check.Tags.Contains("bad") });

        app.MapGet(
            "/culture",
            () =>
                $"{System.Globalization.CultureInfo.CurrentCulture.Name}: {1234.5:N2}, {new DateTime(2024, 3, 1):D}, "
                    + $"{"title".ToUpper(System.Globalization.CultureInfo.CurrentCulture)}");
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
