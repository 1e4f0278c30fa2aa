using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Patterns;
using Microsoft.Extensions.DependencyInjection;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Marks an endpoint that shows the status.</summary>
internal sealed class StatusMarker
{
    public static StatusMarker Instance { get; } = new();
}

/// <summary>Who may see an endpoint of the status.</summary>
internal enum StatusAudience
{
    /// <summary>Everybody in Development, and nobody elsewhere: the application has not said who.</summary>
    Development,

    /// <summary>Whom its authorization policy admits.</summary>
    Authorized,

    /// <summary>Everybody who reaches it.</summary>
    Everybody,
}

/// <summary>The endpoints that show the status.</summary>
internal static class StatusEndpoints
{
    /// <summary>Finds them. The endpoints of the application are made for it, so that it is asked only where there are some.</summary>
    public static IReadOnlyList<(string Path, StatusAudience Audience)> Find(IServiceProvider services)
    {
        try
        {
            var endpoints = services.GetService<EndpointDataSource>()?.Endpoints.OfType<RouteEndpoint>() ?? [];
            return [.. endpoints.Where(static endpoint => endpoint.Metadata.GetMetadata<StatusMarker>() is not null)
                .Select(static endpoint => (GetPath(endpoint.RoutePattern), GetAudience(endpoint.Metadata)))];
        }
        catch (Exception)
        {
            // An endpoint that cannot be made fails the requests, as with other servers, and not the start.
            return [];
        }
    }

    /// <summary>The path, as far as it is the same for all requests.</summary>
    private static string GetPath(RoutePattern pattern)
        => "/" + string.Join('/', pattern.PathSegments.TakeWhile(static segment => segment.IsSimple && segment.Parts[0].IsLiteral)
            .Select(static segment => ((RoutePatternLiteralPart)segment.Parts[0]).Content));

    /// <summary>
    /// Who may see an endpoint with this metadata. A policy without an attribute, which <c>RequireAuthorization</c> does not leave, does not count:
    /// without the middleware nobody would have asked it, and routing fails only for the others.
    /// </summary>
    public static StatusAudience GetAudience(EndpointMetadataCollection? metadata)
    {
        if (metadata?.GetMetadata<IAllowAnonymous>() is not null)
            return StatusAudience.Everybody;

        return metadata?.GetMetadata<IAuthorizeData>() is null ? StatusAudience.Development : StatusAudience.Authorized;
    }
}
