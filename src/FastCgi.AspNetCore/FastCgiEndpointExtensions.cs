using FastCgi.AspNetCore;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Endpoints for the other roles of FastCGI than that of answering HTTP requests.</summary>
public static class FastCgiEndpointExtensions
{
    private const string VariablePrefix = "Variable-";

    /// <summary>
    /// Decides whether the web server may serve a path: requests in the role <see cref="FastCgiRole.Authorizer"/>, which has to be one of
    /// <see cref="FastCgiServerOptions.Roles"/>.
    /// </summary>
    /// <param name="endpoints">The endpoints of the application.</param>
    /// <param name="pattern">The paths, such as <c>/reports/{**path}</c>.</param>
    /// <param name="isAllowed">
    /// Tells whether the request is allowed. It may set what the web server tells whoever answers the request
    /// (<see cref="SetFastCgiVariable"/>), and, if it is not allowed, the status and headers of the refusal; the status is 403 unless it is
    /// set.
    /// </param>
    /// <returns>The endpoint.</returns>
    public static IEndpointConventionBuilder MapFastCgiAuthorizer(
        this IEndpointRouteBuilder endpoints, string pattern, Func<HttpContext, ValueTask<bool>> isAllowed)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(isAllowed);
        return endpoints.Map(pattern, context => AuthorizeAsync(context, isAllowed)).WithFastCgiRole(FastCgiRole.Authorizer);
    }

    /// <summary>
    /// Lets the web server serve a path to users whom the application knows, and tells who they are (REMOTE_USER and AUTH_TYPE). With
    /// <c>RequireAuthorization("policy")</c> on the endpoint a policy decides who of them.
    /// </summary>
    /// <param name="endpoints">The endpoints of the application.</param>
    /// <param name="pattern">The paths, such as <c>/reports/{**path}</c>.</param>
    /// <returns>The endpoint.</returns>
    public static IEndpointConventionBuilder MapFastCgiAuthorizer(this IEndpointRouteBuilder endpoints, string pattern)
        => endpoints.MapFastCgiAuthorizer(pattern, static context => ValueTask.FromResult(IsKnownUser(context)));

    /// <summary>Makes an endpoint answer requests of one role only.</summary>
    /// <param name="builder">The endpoint.</param>
    /// <param name="role">The role.</param>
    /// <returns>The endpoint.</returns>
    public static TBuilder WithFastCgiRole<TBuilder>(this TBuilder builder, FastCgiRole role)
        where TBuilder : IEndpointConventionBuilder => builder.WithMetadata(new FastCgiRoleAttribute(role));

    /// <summary>
    /// Sets a variable that the web server adds to the parameters of a request that is allowed, for whoever answers it: another FastCGI
    /// application sees it as a parameter.
    /// </summary>
    /// <param name="response">The response to a request in the role <see cref="FastCgiRole.Authorizer"/>.</param>
    /// <param name="name">The name, such as REMOTE_USER.</param>
    /// <param name="value">The value.</param>
    public static void SetFastCgiVariable(this HttpResponse response, string name, string value)
    {
        ArgumentNullException.ThrowIfNull(response);
        ArgumentException.ThrowIfNullOrEmpty(name);
        response.Headers[VariablePrefix + name] = value;
    }

    private static async Task AuthorizeAsync(HttpContext context, Func<HttpContext, ValueTask<bool>> isAllowed)
    {
        var response = context.Response;
        if (await isAllowed(context))
        {
            response.StatusCode = StatusCodes.Status200OK;
            return;
        }

        if (response.StatusCode == StatusCodes.Status200OK)
            response.StatusCode = StatusCodes.Status403Forbidden;
        // A refusal goes to the client as it is, and these are not for it.
        foreach (var name in response.Headers.Keys.Where(static name => name.StartsWith(VariablePrefix, StringComparison.OrdinalIgnoreCase)).ToList())
            response.Headers.Remove(name);
    }

    private static bool IsKnownUser(HttpContext context)
    {
        if (context.User.Identity is not { IsAuthenticated: true } identity)
            return false;

        if (identity.Name is { } name)
            context.Response.SetFastCgiVariable("REMOTE_USER", name);
        if (identity.AuthenticationType is { } type)
            context.Response.SetFastCgiVariable("AUTH_TYPE", type);
        return true;
    }
}
