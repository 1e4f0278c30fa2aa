using System.Net.Mime;
using System.Security.Cryptography;
using System.Text.Json;
using Microsoft.Net.Http.Headers;

namespace FastCgi.AspNetCore.Status;

internal static class StatusEndpoint
{
    private static readonly Lazy<string> s_page = new(LoadPage);

    public static Task RespondAsync(HttpContext context)
    {
        // Unless the application restricts access, the web server may expose the status to anyone. A local client
        // proves nothing: a proxy on this machine may have forwarded the request.
        if (StatusEndpoints.GetAudience(context.GetEndpoint()?.Metadata) == StatusAudience.Unspecified
            && context.RequestServices.GetService<IHostEnvironment>()?.IsDevelopment() != true)
            return RespondAsync(
                context.Response, StatusCodes.Status403Forbidden, "Outside Development, the application must specify "
                    + "who may see the status: app.MapFastCgiStatus().RequireAuthorization(\"policy\"), or "
                    + ".AllowAnonymous() if the web server restricts access.\n");

        return context.RequestServices.GetService<IServer>() is FastCgiServer server
            ? RespondAsync(context, MakeReader(server, context.RequestServices))
            : RespondAsync(context.Response, StatusCodes.Status503ServiceUnavailable, "No status is available, because "
                + "the application does not use FastCgi.AspNetCore.\n");
    }

    public static Task RespondAsync(HttpContext context, StatusReader reader)
    {
        var response = context.Response;
        if (!HttpMethods.IsGet(context.Request.Method) && !HttpMethods.IsHead(context.Request.Method))
        {
            response.StatusCode = StatusCodes.Status405MethodNotAllowed;
            response.Headers.Allow = "GET, HEAD";
            return Task.CompletedTask;
        }

        var format = ChooseFormat(context.Request);
        if (reader.Read() is not { } status)
            return RespondAsync(response, StatusCodes.Status503ServiceUnavailable, "No status is available because "
                + "FastCGI has not started.\n");

        response.Headers.CacheControl = "no-store";
        response.Headers.XContentTypeOptions = "nosniff";
        switch (format)
        {
            case "json":
                return WriteAsync(
                    response, MediaTypeNames.Application.Json, JsonSerializer.Serialize(
                        status, StatusJson.Default.StatusSnapshot));
            case "html":
                var page = WritePage(status, out var policy);
                response.Headers.ContentSecurityPolicy = policy;
                return WriteAsync(response, "text/html; charset=utf-8", page);
            default:
                // Do not echo client input.
                return RespondAsync(
                    response, StatusCodes.Status400BadRequest, "Unknown format. Use html or json.\n");
        }
    }

    public static StatusReader MakeReader(FastCgiServer server, IServiceProvider services) => new(
        server, services.GetService<IHostEnvironment>()?.ApplicationName ?? "FastCGI application");

    private static Task RespondAsync(HttpResponse response, int statusCode, string text)
    {
        response.StatusCode = statusCode;
        return WriteAsync(response, "text/plain; charset=utf-8", text);
    }

    private static Task WriteAsync(HttpResponse response, string contentType, string text)
    {
        response.ContentType = contentType;
        return response.WriteAsync(text, response.HttpContext.RequestAborted);
    }

    /// <summary>The query (<c>?format=json</c>; as in php-fpm, <c>?json</c>), the Accept header, or HTML.</summary>
    private static string ChooseFormat(HttpRequest request)
    {
        if (request.Query.TryGetValue("format", out var format))
            return format.ToString();
        if (Array.Find(["json", "html"], request.Query.ContainsKey) is { } name)
            return name;

        var accepted = request.GetTypedHeaders().Accept.Where(static type => type.Quality is not 0)
            .OrderByDescending(static type => type.Quality ?? 1);
        return accepted.Select(GetFormat).FirstOrDefault(static name => name is not null) ?? "html";
    }

    private static string? GetFormat(MediaTypeHeaderValue type) => type.MediaType.ToString().ToLowerInvariant() switch
    {
        "application/json" => "json",
        "text/html" => "html",
        _ => null,
    };

    public static string WritePage(StatusSnapshot status, out string policy)
    {
        var nonce = Convert.ToBase64String(RandomNumberGenerator.GetBytes(16));
        policy =
            $"default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; connect-src 'self'; "
                + "base-uri 'none'; frame-ancestors 'none'";
        // JSON escapes <, > and &, so client text cannot end the element.
        return s_page.Value
            .Replace("\"NONCE\"", $"\"{nonce}\"", StringComparison.Ordinal)
            .Replace(
                "SNAPSHOT", JsonSerializer.Serialize(status, StatusJson.Default.StatusSnapshot),
                    StringComparison.Ordinal);
    }

    private static string LoadPage()
    {
        using var stream = typeof(StatusEndpoint).Assembly.GetManifestResourceStream(
            "FastCgi.AspNetCore.Status.StatusPage.html")!;
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }
}
