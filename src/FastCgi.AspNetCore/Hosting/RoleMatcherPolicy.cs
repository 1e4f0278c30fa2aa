using Microsoft.AspNetCore.Routing.Matching;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>Selects endpoints by role: pages must not respond for authorizers, nor authorizers for pages.</summary>
internal sealed class RoleMatcherPolicy(IOptions<FastCgiServerOptions> options) : MatcherPolicy, IEndpointSelectorPolicy
{
    private readonly ConditionalWeakTable<RouteEndpoint, Endpoint> _observed = [];

    // Like policies that select by other properties than the path, such as the host.
    public override int Order => -100;

    public bool AppliesToEndpoints(IReadOnlyList<Endpoint> endpoints)
        => options.Value.Roles.Any(static role => role != FastCgiRole.Responder)
            || endpoints.Any(static endpoint => GetRole(endpoint) != FastCgiRole.Responder);

    public Task ApplyAsync(HttpContext httpContext, CandidateSet candidates)
    {
        // Absent for requests of Kestrel.
        var role = httpContext.Features.Get<IFastCgiRequestFeature>()?.Role ?? FastCgiRole.Responder;
        for (var i = 0; i < candidates.Count; i++)
        {
            if (!candidates.IsValidCandidate(i))
                continue;

            var endpoint = candidates[i].Endpoint;
            if (GetRole(endpoint) != role)
                candidates.SetValidity(i, false);
            else if (role == FastCgiRole.Authorizer
                && endpoint is RouteEndpoint { RequestDelegate: not null } authorizer)
                candidates.ReplaceEndpoint(i, _observed.GetValue(authorizer, Observe), candidates[i].Values!);
        }

        return Task.CompletedTask;
    }

    /// <summary>Wraps an endpoint, so that the request knows whether a response is the authorizer's own.</summary>
    private static RouteEndpoint Observe(RouteEndpoint endpoint)
    {
        return new RouteEndpoint(
            AskAsync, endpoint.RoutePattern, endpoint.Order, endpoint.Metadata, endpoint.DisplayName);

        async Task AskAsync(HttpContext context)
        {
            var request = context.Features.Get<IFastCgiRequestFeature>() as FastCgiRequest;
            request?.BeginAuthorization();
            try
            {
                await endpoint.RequestDelegate!(context);
                // Start the response now, so that no later middleware can change it.
                var response = context.Response;
                if (!response.HasStarted && response.StatusCode < StatusCodes.Status400BadRequest
                    && request?.MaySendAuthorizerStatus(response.StatusCode) == true)
                    await response.StartAsync();
            }
            finally
            {
                request?.EndAuthorization();
            }
        }
    }

    private static FastCgiRole GetRole(Endpoint endpoint)
        => endpoint.Metadata.GetMetadata<FastCgiRoleAttribute>()?.Role ?? FastCgiRole.Responder;
}
