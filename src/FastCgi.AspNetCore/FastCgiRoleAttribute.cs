namespace FastCgi.AspNetCore;

/// <summary>
/// Makes an endpoint answer requests of one role. An endpoint without it answers only requests in the role Responder, which is every
/// ordinary HTTP request.
/// </summary>
/// <param name="role">The role.</param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class FastCgiRoleAttribute(FastCgiRole role) : Attribute
{
    /// <summary>The role of the requests that the endpoint answers.</summary>
    public FastCgiRole Role { get; } = role;
}
