using System.Net;
using System.Net.Mime;
using System.Text.Json;
using FastCgi.AspNetCore.Hosting;
using Microsoft.AspNetCore.Authorization;
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

    // The last is what ASP.NET Core's middleware leaves when it has taken the client's address out of the first, which anybody may have written.
    private static readonly string[] s_proxyHeaders = ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Original-For"];

    /// <summary>The answer to one request.</summary>
    /// <remarks>Without a policy on the endpoint, only to clients on this machine.</remarks>
    public static Task AnswerAsync(HttpContext context)
    {
        if (!IsAllowed(context))
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

    private static bool IsAllowed(HttpContext context)
    {
        // Whoever put a policy on the endpoint, or opened it to all, has decided. A policy without an attribute, which RequireAuthorization
        // does not leave, does not count: without the middleware nobody would have asked it, and routing fails of the others alone.
        if (context.GetEndpoint()?.Metadata is { } metadata && (metadata.GetMetadata<IAuthorizeData>() ?? (object?)metadata.GetMetadata<IAllowAnonymous>()) is not null)
            return true;

        // A proxy on this machine may have passed its own address. Where it is not known, as through a unix socket to Kestrel, nobody is local.
        if (s_proxyHeaders.Any(context.Request.Headers.ContainsKey))
            return false;

        return context.Connection.RemoteIpAddress is { } address && IPAddress.IsLoopback(address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address);
    }

    private static Task RefuseAsync(HttpResponse response)
    {
        response.StatusCode = StatusCodes.Status403Forbidden;
        return WriteAsync(response, PlainText, "The status is shown to clients on the machine itself. To show it to others, put a policy on it: app.MapFastCgiStatus().RequireAuthorization(\"policy\").\n");
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
