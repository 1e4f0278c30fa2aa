using FastCgi.AspNetCore;
using FastCgi.AspNetCore.Status;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Extension methods that map the status of the FastCGI server.</summary>
public static class FastCgiStatusExtensions
{
    /// <summary>
    /// Maps an endpoint that shows the status of the FastCGI server: an HTML page, or JSON with <c>?format=json</c>. It
    /// contains versions, endpoints, limits, counts, latencies, open connections, active requests, recent errors, the
    /// web servers that were seen, and recommendations for the operator.
    /// </summary>
    /// <param name="endpoints">The <see cref="IEndpointRouteBuilder"/>.</param>
    /// <param name="pattern">The route pattern.</param>
    /// <returns>
    /// An <see cref="IEndpointConventionBuilder"/> for the endpoint. Add <c>RequireAuthorization("policy")</c>, or
    /// <c>AllowAnonymous()</c> if the web server restricts access to the path. Without either, the status is shown only
    /// in Development.
    /// </returns>
    /// <remarks>
    /// The endpoint responds even if <see cref="FastCgiServerLimits.MaxConcurrentRequests"/> is reached. Latencies are
    /// recorded from the first request for the status until ten minutes after the last; otherwise, recording is off and
    /// costs nothing. Paths are shown without query strings, and headers are not shown.
    /// </remarks>
    public static IEndpointConventionBuilder MapFastCgiStatus(
        this IEndpointRouteBuilder endpoints, string pattern = "/fastcgi-status")
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        if (endpoints.ServiceProvider.GetService<IServer>() is FastCgiServer server)
            server.HasStatusEndpoint = true;
        return endpoints.Map(pattern, StatusEndpoint.RespondAsync).WithDisplayName("FastCGI status")
            .WithMetadata(new StatusMarker());
    }
}
