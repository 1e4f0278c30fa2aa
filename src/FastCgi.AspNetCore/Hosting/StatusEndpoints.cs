using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Patterns;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>The metadata of a status endpoint.</summary>
internal sealed class StatusMarker;

/// <summary>Finds the status endpoints of the application.</summary>
internal sealed class StatusEndpoints(IServiceProvider services)
{
    public const string Anyone = "anyone who can reach it";

    /// <summary>Creates the endpoints of the application, so call it only if it has status endpoints.</summary>
    public IReadOnlyList<(string Path, string? Audience)> Find()
    {
        try
        {
            var endpoints = services.GetService<EndpointDataSource>()?.Endpoints.OfType<RouteEndpoint>() ?? [];
            return [.. endpoints.Where(static endpoint => endpoint.Metadata.GetMetadata<StatusMarker>() is not null)
                .Select(static endpoint => (GetPath(endpoint.RoutePattern), GetAudience(endpoint.Metadata)))];
        }
        catch (Exception)
        {
            // As with other servers, an endpoint that cannot be created fails requests, not the start.
            return [];
        }
    }

    /// <summary>The literal prefix of the route.</summary>
    private static string GetPath(RoutePattern pattern)
        => "/" + string.Join(
            '/', pattern.PathSegments.TakeWhile(static segment => segment.IsSimple && segment.Parts[0].IsLiteral)
            .Select(static segment => ((RoutePatternLiteralPart)segment.Parts[0]).Content));

    /// <summary>
    /// A policy without an authorization attribute does not count: without the middleware, it is not enforced.
    /// </summary>
    /// <returns>
    /// <see langword="null"/> if the application has not specified who may see the status: anyone, but only in
    /// Development.
    /// </returns>
    public static string? GetAudience(EndpointMetadataCollection? metadata)
    {
        if (metadata?.GetMetadata<IAllowAnonymous>() is not null)
            return Anyone;

        return metadata?.GetMetadata<IAuthorizeData>() is null ? null : "users that satisfy its authorization policy";
    }
}
