using FastCgi.AspNetCore;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.Status;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Shows how the FastCGI server is.</summary>
public static class FastCgiStatusExtensions
{
    /// <summary>
    /// Shows the status of the FastCGI server: a page for people, with <c>?format=json</c> JSON, with <c>?format=openmetrics</c> text that
    /// Prometheus scrapes. It has versions, endpoints, limits, counts, latencies, the connections and requests that are under way, recent
    /// errors, the web servers that were seen, and what an operator can do better.
    /// </summary>
    /// <param name="endpoints">The endpoints of the application.</param>
    /// <param name="pattern">The path.</param>
    /// <returns>
    /// The endpoint. Say who may see it: <c>RequireAuthorization("policy")</c>, or <c>AllowAnonymous()</c> where the web server restricts access to
    /// the path. Without either, it answers only in Development.
    /// </returns>
    /// <remarks>
    /// It answers however many requests the application works on: the path has the reserved places of
    /// <see cref="FastCgiServerLimits.MaxReservedRequests"/>.
    /// Latencies are counted from the first look on until ten minutes after the last; while nobody looks, a request costs nothing for it.
    /// Paths are shown without their queries, and no header is.
    /// </remarks>
    public static IEndpointConventionBuilder MapFastCgiStatus(this IEndpointRouteBuilder endpoints, string pattern = "/fastcgi-status")
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        if (endpoints.ServiceProvider.GetService<IServer>() is FastCgiServer server)
            server.HasStatusEndpoint = true;
        return endpoints.Map(pattern, StatusEndpoint.AnswerAsync).WithDisplayName("FastCGI status").WithMetadata(StatusMarker.Instance);
    }
}
