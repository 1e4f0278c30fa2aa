using FastCgi.AspNetCore;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Extension methods that map endpoints for the FastCGI role Authorizer.</summary>
public static class FastCgiEndpointExtensions
{
    private const string VariablePrefix = "Variable-";

    /// <summary>
    /// Maps an endpoint that decides whether the web server may serve a path. It handles requests in the role
    /// <see cref="FastCgiRole.Authorizer"/>, which must be in <see cref="FastCgiServerOptions.Roles"/>.
    /// </summary>
    /// <param name="endpoints">The <see cref="IEndpointRouteBuilder"/>.</param>
    /// <param name="pattern">The route pattern, such as <c>/reports/{**path}</c>.</param>
    /// <param name="isAllowed">
    /// Returns whether the request is allowed. It may set variables for the server that handles the request
    /// (<see cref="SetFastCgiVariable"/>). If it returns <see langword="false"/>, it may set the status code and
    /// headers of the refusal; the status code defaults to 403.
    /// </param>
    /// <returns>An <see cref="IEndpointConventionBuilder"/> for the endpoint.</returns>
    public static IEndpointConventionBuilder MapFastCgiAuthorizer(
        this IEndpointRouteBuilder endpoints, string pattern, Func<HttpContext, ValueTask<bool>> isAllowed)
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(isAllowed);
        return endpoints.Map(pattern, context => AuthorizeAsync(context, isAllowed))
            .WithFastCgiRole(FastCgiRole.Authorizer);
    }

    /// <summary>
    /// Maps an endpoint that allows the web server to serve a path to authenticated users, and passes their name and
    /// authentication type (REMOTE_USER and AUTH_TYPE). Add <c>RequireAuthorization("policy")</c> to admit only users
    /// that a policy accepts.
    /// </summary>
    /// <param name="endpoints">The <see cref="IEndpointRouteBuilder"/>.</param>
    /// <param name="pattern">The route pattern, such as <c>/reports/{**path}</c>.</param>
    /// <returns>An <see cref="IEndpointConventionBuilder"/> for the endpoint.</returns>
    public static IEndpointConventionBuilder MapFastCgiAuthorizer(this IEndpointRouteBuilder endpoints, string pattern)
        => endpoints.MapFastCgiAuthorizer(pattern, static context => ValueTask.FromResult(IsKnownUser(context)));

    /// <summary>Restricts an endpoint to requests in one role.</summary>
    /// <param name="builder">The endpoint convention builder.</param>
    /// <param name="role">The role.</param>
    /// <returns>The endpoint convention builder.</returns>
    public static TBuilder WithFastCgiRole<TBuilder>(this TBuilder builder, FastCgiRole role)
        where TBuilder : IEndpointConventionBuilder => builder.WithMetadata(new FastCgiRoleAttribute(role));

    /// <summary>
    /// Sets a variable that the web server passes, with an allowed request, to the FastCGI application that handles the
    /// request.
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
        // The web server passes a refusal to the client, which must not see the variables.
        foreach (var name in response.Headers.Keys.Where(
            static name => name.StartsWith(VariablePrefix, StringComparison.OrdinalIgnoreCase)).ToList())
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
