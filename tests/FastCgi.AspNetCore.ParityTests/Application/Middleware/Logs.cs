using Microsoft.AspNetCore.HttpLogging;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>HTTP logging, to the log, and W3C logging, to files.</summary>
internal static class Logs
{
    public static void AddLogs(this IServiceCollection services, IConfiguration configuration)
    {
        services.AddHttpLogging(options =>
        {
            options.LoggingFields = HttpLoggingFields.None;
            options.RequestHeaders.Add("X-Logged");
            options.ResponseHeaders.Add("X-Logged");
        });
        services.AddW3CLogging(options =>
        {
            options.LoggingFields = W3CLoggingFields.All & ~(
                W3CLoggingFields.Date | W3CLoggingFields.Time | W3CLoggingFields.TimeTaken);
            options.LogDirectory = configuration["LogFolder"]!;
        });
    }

    public static void UseLogs(this IApplicationBuilder app)
    {
        app.UseW3CLogging();
        app.UseHttpLogging();
    }

    public static void MapLogged(this IEndpointRouteBuilder app)
        => app.MapPost("/logged", async (HttpContext context) =>
        {
            var text = await new StreamReader(context.Request.Body).ReadToEndAsync();
            context.Response.Headers["X-Logged"] = "out";
            return $"logged {text}";
        }).WithHttpLogging(HttpLoggingFields.All & ~HttpLoggingFields.Duration);
}
