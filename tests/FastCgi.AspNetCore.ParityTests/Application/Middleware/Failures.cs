using Microsoft.AspNetCore.Diagnostics;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>Endpoints that fail, and the middleware that handles the failure.</summary>
internal static class Failures
{
    public static void UseFailurePages(this IApplicationBuilder app)
    {
        // The branches rejoin, so that endpoints are the same inside and outside them.
        app.UseWhen(IsUnder("/pages"), branch => branch.UseStatusCodePages("text/plain", "status {0}"));
        app.UseWhen(
            IsUnder("/pages-again"), branch => branch.UseStatusCodePagesWithReExecute("/failures/status", "?code={0}"));
        app.UseWhen(
            IsUnder("/pages-elsewhere"), branch => branch.UseStatusCodePagesWithRedirects("/failures/status?code={0}"));
        app.UseWhen(IsUnder("/developer"), branch => branch.UseDeveloperExceptionPage());
        app.UseWhen(IsUnder("/handled"), branch => branch.UseExceptionHandler("/failures/handler"));
    }

    public static void MapFailures(this IEndpointRouteBuilder app)
    {
        foreach (var prefix in (string[])[
            "/failures", "/developer", "/handled", "/pages", "/pages-again", "/pages-elsewhere"])
            MapFailures(app.MapGroup(prefix));

        app.Map("/failures/status", (int code, HttpContext context) =>
        {
            var original = context.Features.Get<IStatusCodeReExecuteFeature>();
            return $"{code} of {original?.OriginalPathBase}{original?.OriginalPath}{original?.OriginalQueryString}";
        });
        app.Map("/failures/handler", (HttpContext context) =>
        {
            var failure = context.Features.GetRequiredFeature<IExceptionHandlerPathFeature>();
            return $"{failure.Path}: {failure.Error.Message}";
        });
    }

    private static void MapFailures(RouteGroupBuilder failures)
    {
        failures.MapMethods("/before", ["GET", "POST"], (HttpResponse response) =>
        {
            response.Headers["X-Lost"] = "a header of a response that is not sent";
            response.StatusCode = 202;
            throw new InvalidOperationException("It failed before the start.");
        });
        failures.MapGet("/after", async (HttpResponse response) =>
        {
            response.ContentLength = 1000;
            await response.WriteAsync("the beginning");
            await response.Body.FlushAsync();
            throw new InvalidOperationException("It failed after the start.");
        });
        failures.MapGet("/abort", (HttpContext context) => context.Abort());
        failures.MapGet("/too-many", async (HttpResponse response) =>
        {
            response.ContentLength = 3;
            await response.WriteAsync("more than that");
        });
        failures.MapGet("/too-few", (HttpResponse response) => { response.ContentLength = 3; });
        failures.MapGet("/status/{code:int}", (int code) => Results.StatusCode(code));
    }

    private static Func<HttpContext, bool> IsUnder(string path)
        => context => context.Request.Path.StartsWithSegments(path, StringComparison.Ordinal);
}
