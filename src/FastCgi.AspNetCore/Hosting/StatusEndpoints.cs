using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
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
        => services.GetService<EndpointDataSource>() is not { } source
            ? []
            : [.. source.Endpoints.OfType<RouteEndpoint>().Where(static endpoint => endpoint.Metadata.GetMetadata<StatusMarker>() is not null)
                .Select(static endpoint => ("/" + endpoint.RoutePattern.RawText?.Trim('/'), GetAudience(endpoint.Metadata)))];

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
