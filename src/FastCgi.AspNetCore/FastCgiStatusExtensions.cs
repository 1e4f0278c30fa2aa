using FastCgi.AspNetCore;
using FastCgi.AspNetCore.Hosting;
using FastCgi.AspNetCore.Status;
using Microsoft.AspNetCore.Routing;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Extension methods that map the status of the FastCGI server.</summary>
public static class FastCgiStatusExtensions
{
    /// <summary>
    /// Maps an endpoint that shows the status of the server as an HTML page, or JSON with <c>?format=json</c>:
    /// versions, endpoints, limits, counts, latencies, connections, requests, errors, web servers, and recommendations.
    /// </summary>
    /// <param name="endpoints">The <see cref="IEndpointRouteBuilder"/>.</param>
    /// <param name="pattern">The route pattern.</param>
    /// <returns>
    /// An <see cref="IEndpointConventionBuilder"/> for the endpoint. Add <c>RequireAuthorization("policy")</c>, or
    /// <c>AllowAnonymous()</c> if the web server restricts access to the path. Without either, the status is shown only
    /// in Development.
    /// </returns>
    /// <remarks>
    /// Responds even if <see cref="FastCgiServerLimits.MaxConcurrentRequests"/> is reached. Latencies are recorded
    /// until ten minutes after the last request for the status. Query strings and headers are not shown.
    /// </remarks>
    public static IEndpointConventionBuilder MapFastCgiStatus(
        this IEndpointRouteBuilder endpoints, string pattern = "/fastcgi-status")
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        if (endpoints.ServiceProvider.GetService<IServer>() is FastCgiServer server)
            server.HasStatusEndpoint = true;
        return endpoints.Map(pattern, StatusEndpoint.AnswerAsync).WithDisplayName("FastCGI status")
            .WithMetadata(new StatusMarker());
    }
}
