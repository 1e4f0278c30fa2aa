namespace FastCgi.AspNetCore;

/// <summary>
/// Restricts an endpoint to requests in one role. Without it, an endpoint handles only the role Responder, that is,
/// ordinary HTTP requests.
/// </summary>
/// <param name="role">The role.</param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class FastCgiRoleAttribute(FastCgiRole role) : Attribute
{
    /// <summary>Gets the role of the requests that the endpoint handles.</summary>
    public FastCgiRole Role { get; } = role;
}
