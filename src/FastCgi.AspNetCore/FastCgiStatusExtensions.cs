using FastCgi.AspNetCore.Status;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;

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
    /// <returns>The endpoint. Without a policy, such as by <c>RequireAuthorization</c>, it answers only clients on the same machine.</returns>
    /// <remarks>
    /// Latencies are counted from the first look on until ten minutes after the last; while nobody looks, a request costs nothing for it.
    /// Paths are shown without their queries, and no header is.
    /// </remarks>
    public static IEndpointConventionBuilder MapFastCgiStatus(this IEndpointRouteBuilder endpoints, string pattern = "/fastcgi-status")
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        return endpoints.Map(pattern, StatusEndpoint.AnswerAsync).WithDisplayName("FastCGI status");
    }
}
