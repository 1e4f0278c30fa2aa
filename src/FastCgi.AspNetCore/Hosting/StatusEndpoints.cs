using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Routing.Patterns;

namespace FastCgi.AspNetCore.Hosting;

internal sealed class StatusMarker;

internal enum StatusAudience
{
    /// <summary>The application has not specified it: anyone, but only in Development.</summary>
    Unspecified,

    Authorized,

    Anyone,
}

internal static class StatusEndpoints
{
    /// <summary>Finds status endpoints. Creates all endpoints of the application, so avoid the call.</summary>
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
            // As with other servers, an endpoint that cannot be created fails requests, not the start.
            return [];
        }
    }

    private static string GetPath(RoutePattern pattern)
        => "/" + string.Join(
            '/', pattern.PathSegments.TakeWhile(static segment => segment.IsSimple && segment.Parts[0].IsLiteral)
            .Select(static segment => ((RoutePatternLiteralPart)segment.Parts[0]).Content));

    /// <summary>Ignores a policy without an attribute: without the middleware, it is not enforced.</summary>
    public static StatusAudience GetAudience(EndpointMetadataCollection? metadata)
    {
        if (metadata?.GetMetadata<IAllowAnonymous>() is not null)
            return StatusAudience.Anyone;

        return metadata?.GetMetadata<IAuthorizeData>() is null ? StatusAudience.Unspecified : StatusAudience.Authorized;
    }
}
