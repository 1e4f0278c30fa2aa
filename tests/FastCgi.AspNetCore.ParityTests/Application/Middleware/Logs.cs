using Microsoft.AspNetCore.HttpLogging;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>HTTP logging.</summary>
internal static class Logs
{
    public static void AddLogs(this IServiceCollection services) => services.AddHttpLogging(options =>
    {
        options.LoggingFields = HttpLoggingFields.None;
        options.RequestHeaders.Add("X-Logged");
        options.ResponseHeaders.Add("X-Logged");
    });

    public static void MapLogged(this IEndpointRouteBuilder app)
        => app.MapPost("/logged", async (HttpContext context) =>
        {
            var text = await new StreamReader(context.Request.Body).ReadToEndAsync();
            context.Response.Headers["X-Logged"] = "out";
            return $"logged {text}";
        }).WithHttpLogging(HttpLoggingFields.All & ~HttpLoggingFields.Duration);
}
