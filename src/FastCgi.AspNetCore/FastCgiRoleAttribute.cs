namespace FastCgi.AspNetCore;

/// <summary>Restricts an endpoint to requests in one role. Without it, the role is Responder.</summary>
/// <param name="role">The role.</param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method)]
public sealed class FastCgiRoleAttribute(FastCgiRole role) : Attribute
{
    /// <summary>Gets the role of the requests that the endpoint handles.</summary>
    public FastCgiRole Role { get; } = role;
}
