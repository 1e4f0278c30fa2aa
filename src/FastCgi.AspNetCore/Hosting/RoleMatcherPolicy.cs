using System.Runtime.CompilerServices;
using FastCgi.AspNetCore.Requests;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.AspNetCore.Routing.Matching;
using Microsoft.Extensions.Options;

namespace FastCgi.AspNetCore.Hosting;

/// <summary>
/// Keeps the roles apart: a page must not answer the question whether it may be shown, and an authorizer must not answer a client. It
/// costs nothing where there is no role but Responder.
/// </summary>
internal sealed class RoleMatcherPolicy(IOptions<FastCgiServerOptions> options) : MatcherPolicy, IEndpointSelectorPolicy
{
    private readonly ConditionalWeakTable<RouteEndpoint, Endpoint> _observed = [];

    // With those that choose by other properties of the request than its path, such as the host.
    public override int Order => -100;

    public bool AppliesToEndpoints(IReadOnlyList<Endpoint> endpoints)
        => options.Value.Roles.Any(static role => role != FastCgiRole.Responder) || endpoints.Any(static endpoint => GetRole(endpoint) != FastCgiRole.Responder);

    public Task ApplyAsync(HttpContext httpContext, CandidateSet candidates)
    {
        // What came over HTTP to Kestrel beside us has no such feature.
        var role = httpContext.Features.Get<IFastCgiRequestFeature>()?.Role ?? FastCgiRole.Responder;
        for (var i = 0; i < candidates.Count; i++)
        {
            if (!candidates.IsValidCandidate(i))
                continue;

            var endpoint = candidates[i].Endpoint;
            if (GetRole(endpoint) != role)
                candidates.SetValidity(i, false);
            else if (role == FastCgiRole.Authorizer && endpoint is RouteEndpoint { RequestDelegate: not null } authorizer)
                candidates.ReplaceEndpoint(i, _observed.GetValue(authorizer, Observe), candidates[i].Values!);
        }

        return Task.CompletedTask;
    }

    /// <summary>The endpoint, with which the request learns whether an answer is the authorizer's own.</summary>
    private static RouteEndpoint Observe(RouteEndpoint endpoint)
    {
        return new RouteEndpoint(AskAsync, endpoint.RoutePattern, endpoint.Order, endpoint.Metadata, endpoint.DisplayName);

        async Task AskAsync(HttpContext context)
        {
            var request = context.Features.Get<IFastCgiRequestFeature>() as FastCgiRequest;
            request?.BeginAuthorization();
            try
            {
                await endpoint.RequestDelegate!(context);
                // Sent at once, so that nothing that follows can change it.
                var response = context.Response;
                if (!response.HasStarted && response.StatusCode < StatusCodes.Status400BadRequest && request?.MayAnswerAuthorizer(response.StatusCode) == true)
                    await response.StartAsync();
            }
            finally
            {
                request?.EndAuthorization();
            }
        }
    }

    private static FastCgiRole GetRole(Endpoint endpoint) => endpoint.Metadata.GetMetadata<FastCgiRoleAttribute>()?.Role ?? FastCgiRole.Responder;
}
