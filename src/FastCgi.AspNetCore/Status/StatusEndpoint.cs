using System.Net.Mime;
using System.Text.Json;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Net.Http.Headers;

namespace FastCgi.AspNetCore.Status;

/// <summary>Answers with the status, as a page, as JSON, or as OpenMetrics text.</summary>
internal static class StatusEndpoint
{
    private const string OpenMetrics = "openmetrics";
    private const string PlainText = "text/plain; charset=utf-8";

    /// <summary>The answer to one request.</summary>
    public static Task AnswerAsync(HttpContext context)
    {
        // Where the application has not said who may see it, the web server may show it to the world. That a client is local proves nothing: a
        // proxy on this machine may have passed the request.
        if (StatusEndpoints.GetAudience(context.GetEndpoint()?.Metadata) == StatusAudience.Development
            && context.RequestServices.GetService<IHostEnvironment>()?.IsDevelopment() != true)
            return RefuseAsync(context.Response);

        return context.RequestServices.GetService<IServer>() is FastCgiServer server
            ? AnswerAsync(context, MakeReader(server, context.RequestServices))
            : FailAsync(context.Response, "There is no status: the server of this application is not FastCgi.AspNetCore.\n");
    }

    /// <summary>The answer to one request, from a reader; whoever can ask may.</summary>
    public static Task AnswerAsync(HttpContext context, StatusReader reader)
    {
        var response = context.Response;
        if (!HttpMethods.IsGet(context.Request.Method) && !HttpMethods.IsHead(context.Request.Method))
        {
            response.StatusCode = StatusCodes.Status405MethodNotAllowed;
            response.Headers.Allow = "GET, HEAD";
            return Task.CompletedTask;
        }

        var format = ChooseFormat(context.Request);
        if (reader.Read(isWhole: format != OpenMetrics) is not { } status)
            return FailAsync(response, "There is no status: FastCGI has not started.\n");

        response.Headers.CacheControl = "no-store";
        response.Headers.XContentTypeOptions = "nosniff";
        switch (format)
        {
            case "json":
                return WriteAsync(response, MediaTypeNames.Application.Json, JsonSerializer.Serialize(status, StatusJson.Default.StatusSnapshot));
            case OpenMetrics:
                return WriteAsync(response, OpenMetricsText.ContentType, OpenMetricsText.Write(status));
            case "html":
                var page = StatusPage.Write(status, out var policy);
                response.Headers.ContentSecurityPolicy = policy;
                return WriteAsync(response, "text/html; charset=utf-8", page);
            default:
                // What the client has asked for is not repeated: it may be anything.
                response.StatusCode = StatusCodes.Status400BadRequest;
                return WriteAsync(response, PlainText, "The format is not known. There are html, json and openmetrics.\n");
        }
    }

    /// <summary>Makes what reads the status of a server.</summary>
    public static StatusReader MakeReader(FastCgiServer server, IServiceProvider services) => new(
        server, services.GetService<IHostEnvironment>()?.ApplicationName ?? "FastCGI application");

    private static Task RefuseAsync(HttpResponse response)
    {
        response.StatusCode = StatusCodes.Status403Forbidden;
        return WriteAsync(response, PlainText, "The status is shown only in Development, unless the application says who may see it: app.MapFastCgiStatus().RequireAuthorization(\"policy\"), or .AllowAnonymous() where the web server restricts access.\n");
    }

    private static Task FailAsync(HttpResponse response, string text)
    {
        response.StatusCode = StatusCodes.Status503ServiceUnavailable;
        return WriteAsync(response, PlainText, text);
    }

    private static Task WriteAsync(HttpResponse response, string contentType, string text)
    {
        response.ContentType = contentType;
        return response.WriteAsync(text, response.HttpContext.RequestAborted);
    }

    /// <summary>What the query asks for, as <c>?format=json</c> or, as with php-fpm, <c>?json</c>; else what the client accepts; else the page.</summary>
    private static string ChooseFormat(HttpRequest request)
    {
        if (request.Query.TryGetValue("format", out var format))
            return format.ToString();
        foreach (var name in new[] { "json", OpenMetrics, "html" })
        {
            if (request.Query.ContainsKey(name))
                return name;
        }

        // A quality of 0 says what is not wanted.
        var accepted = request.GetTypedHeaders().Accept.Where(static type => type.Quality is not 0).OrderByDescending(static type => type.Quality ?? 1);
        return accepted.Select(GetFormat).FirstOrDefault(static name => name is not null) ?? "html";
    }

    private static string? GetFormat(MediaTypeHeaderValue type) => type.MediaType.ToString().ToLowerInvariant() switch
    {
        "application/json" => "json",
        "application/openmetrics-text" => OpenMetrics,
        "text/html" => "html",
        _ => null,
    };
}
