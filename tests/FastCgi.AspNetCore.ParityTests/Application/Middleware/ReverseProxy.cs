using FastCgi.AspNetCore.ParityTests.Sites;
using Microsoft.AspNetCore.Http.Extensions;
using Microsoft.AspNetCore.Http.Features;

namespace FastCgi.AspNetCore.ParityTests.Application.Middleware;

/// <summary>
/// Sends a request on by <see cref="HttpClient"/>, and the response back, both as they come: to this site itself, so the web server
/// and the application handle two requests at once.
/// </summary>
internal static class ReverseProxy
{
    private const string ClientName = "reverse proxy";

    private static readonly HashSet<string> s_notForwarded = new(StringComparer.OrdinalIgnoreCase)
    {
        "Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "Expect", "Server", "Date",
    };

    public static void AddReverseProxy(this IServiceCollection services)
        => services.AddHttpClient(ClientName).ConfigurePrimaryHttpMessageHandler(() => new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            UseCookies = false,
            UseProxy = false,
            ActivityHeadersPropagator = null,
        });

    public static void MapReverseProxy(this IEndpointRouteBuilder app)
        => app.Map("/proxy/{**rest}", async (HttpContext context, string? rest, SiteAddress site, IHttpClientFactory clients) =>
        {
            using var request = CreateRequest(context.Request, new Uri(site.Url!, $"/{rest}{context.Request.QueryString}"));
            using var response = await clients.CreateClient(ClientName).SendAsync(request, HttpCompletionOption.ResponseHeadersRead, context.RequestAborted);

            context.Response.StatusCode = (int)response.StatusCode;
            foreach (var (name, values) in response.Headers.Concat(response.Content.Headers).Where(header => !s_notForwarded.Contains(header.Key)))
                context.Response.Headers[name] = values.ToArray();
            await response.Content.CopyToAsync(context.Response.Body, context.RequestAborted);
        });

    private static HttpRequestMessage CreateRequest(HttpRequest request, Uri uri)
    {
        var forwarded = new HttpRequestMessage(new HttpMethod(request.Method), uri);
        if (request.HttpContext.Features.GetRequiredFeature<IHttpRequestBodyDetectionFeature>().CanHaveBody)
            forwarded.Content = new StreamContent(request.Body);
        foreach (var (name, values) in request.Headers.Where(header => !s_notForwarded.Contains(header.Key)))
        {
            if (!forwarded.Headers.TryAddWithoutValidation(name, values.AsEnumerable()))
                forwarded.Content?.Headers.TryAddWithoutValidation(name, values.AsEnumerable());
        }

        return forwarded;
    }
}
