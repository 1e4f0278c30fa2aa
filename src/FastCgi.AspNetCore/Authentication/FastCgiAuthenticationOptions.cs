using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.Authentication;

/// <summary>Which parameters of the web server make the user of a request.</summary>
/// <remarks>
/// The application believes them. Use the scheme only where the web server itself checks who the user is: nginx and HAProxy pass the
/// name of any <c>Authorization: Basic</c> header as REMOTE_USER, whether they have checked its password or not.
/// </remarks>
public sealed class FastCgiAuthenticationOptions : AuthenticationSchemeOptions
{
    private readonly List<ClaimParameter> _claimParameters = [];

    /// <summary>The parameter that names the user. Where it is empty or absent, nobody is authenticated.</summary>
    /// <remarks><c>REMOTE_USER</c> by default.</remarks>
    /// <exception cref="ArgumentException">The parameter is empty, or a header of the client's.</exception>
    public string UserNameParameter
    {
        get;
        set => field = NotOfTheClient(value);
    } = "REMOTE_USER";

    /// <summary>The parameter that says how the user was authenticated; it becomes <c>Identity.AuthenticationType</c>.</summary>
    /// <remarks><c>AUTH_TYPE</c> by default.</remarks>
    /// <exception cref="ArgumentException">The parameter is empty, or a header of the client's.</exception>
    public string AuthenticationTypeParameter
    {
        get;
        set => field = NotOfTheClient(value);
    } = "AUTH_TYPE";

    /// <summary>Whether a user counts only if <see cref="AuthenticationTypeParameter"/> is there too.</summary>
    /// <remarks>
    /// True by default, as RFC 3875 has it: the stock configuration of nginx passes a name that nobody has checked, and no AUTH_TYPE.
    /// Add <c>fastcgi_param AUTH_TYPE Basic;</c> where <c>auth_basic</c> is.
    /// </remarks>
    public bool RequireAuthenticationType { get; set; } = true;

    /// <summary>What <see cref="MapClaim"/> has added.</summary>
    internal IReadOnlyList<ClaimParameter> ClaimParameters => _claimParameters;

    /// <summary>Makes claims of a parameter, where it is there and not empty.</summary>
    /// <param name="parameter">The parameter, such as <c>AUTHENTICATE_MAIL</c> or <c>OIDC_CLAIM_groups</c>.</param>
    /// <param name="claimType">The type of the claims, such as <see cref="System.Security.Claims.ClaimTypes.Role"/>.</param>
    /// <param name="separator">What separates several values; without it the value is one claim.</param>
    /// <exception cref="ArgumentException">The parameter is empty, or a header of the client's.</exception>
    public void MapClaim(string parameter, string claimType, char? separator = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(claimType);
        _claimParameters.Add(new ClaimParameter(NotOfTheClient(parameter), claimType, separator));
    }

    private static string NotOfTheClient(string parameter)
    {
        ArgumentException.ThrowIfNullOrEmpty(parameter);
        return parameter.StartsWith("HTTP_", StringComparison.OrdinalIgnoreCase)
            ? throw new ArgumentException($"The parameter {parameter} is a request header, which any client can send.", nameof(parameter))
            : parameter;
    }

    /// <summary>A parameter whose values are claims.</summary>
    internal sealed record ClaimParameter(string Name, string ClaimType, char? Separator);
}
