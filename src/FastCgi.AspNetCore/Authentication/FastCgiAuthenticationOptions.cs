using Microsoft.AspNetCore.Authentication;

namespace FastCgi.AspNetCore.Authentication;

/// <summary>Configures which parameters identify the user of a request.</summary>
/// <remarks>
/// The application trusts these parameters. Use the scheme only if the web server authenticates users: nginx and
/// HAProxy pass the name from any <c>Authorization: Basic</c> header as REMOTE_USER, even if they have not verified the
/// password.
/// </remarks>
public sealed class FastCgiAuthenticationOptions : AuthenticationSchemeOptions
{
    private readonly List<ClaimParameter> _claimParameters = [];

    /// <summary>
    /// Gets or sets the parameter that contains the user name. If it is absent or empty, the request is not
    /// authenticated.
    /// </summary>
    /// <remarks>Defaults to <c>REMOTE_USER</c>.</remarks>
    /// <exception cref="ArgumentException">The value is empty, or names a request header.</exception>
    public string UserNameParameter
    {
        get;
        set => field = RequireNoHeader(value);
    } = "REMOTE_USER";

    /// <summary>
    /// Gets or sets the parameter that contains the authentication type, for <c>Identity.AuthenticationType</c>.
    /// </summary>
    /// <remarks>Defaults to <c>AUTH_TYPE</c>.</remarks>
    /// <exception cref="ArgumentException">The value is empty, or names a request header.</exception>
    public string AuthenticationTypeParameter
    {
        get;
        set => field = RequireNoHeader(value);
    } = "AUTH_TYPE";

    /// <summary>
    /// Gets or sets a value that indicates whether a request is authenticated only if
    /// <see cref="AuthenticationTypeParameter"/> is present.
    /// </summary>
    /// <remarks>
    /// Defaults to <see langword="true"/> (RFC 3875, section 4.1.1): the default configuration of nginx passes an
    /// unverified name without AUTH_TYPE. Add <c>fastcgi_param AUTH_TYPE Basic;</c> where <c>auth_basic</c> is
    /// configured.
    /// </remarks>
    public bool RequireAuthenticationType { get; set; } = true;
    internal IReadOnlyList<ClaimParameter> ClaimParameters => _claimParameters;

    /// <summary>Adds a claim for each value of a parameter, unless it is absent or empty.</summary>
    /// <param name="parameter">The parameter, such as <c>AUTHENTICATE_MAIL</c> or <c>OIDC_CLAIM_groups</c>.</param>
    /// <param name="claimType">The claim type, such as <see cref="System.Security.Claims.ClaimTypes.Role"/>.</param>
    /// <param name="separator">
    /// The character that separates values, or <see langword="null"/> if the parameter is one claim.
    /// </param>
    /// <exception cref="ArgumentException">The parameter is empty, or names a request header.</exception>
    public void MapClaim(string parameter, string claimType, char? separator = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(claimType);
        _claimParameters.Add(new ClaimParameter(RequireNoHeader(parameter), claimType, separator));
    }

    private static string RequireNoHeader(string parameter)
    {
        ArgumentException.ThrowIfNullOrEmpty(parameter);
        return parameter.StartsWith("HTTP_", StringComparison.OrdinalIgnoreCase)
            ? throw new ArgumentException($"The parameter {parameter} is a request header, which any client can "
                + "forge. Choose a parameter that the web server sets.", nameof(parameter))
            : parameter;
    }

    internal sealed record ClaimParameter(string Name, string ClaimType, char? Separator);
}
